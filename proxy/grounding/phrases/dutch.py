"""Dutch."""

from __future__ import annotations

from proxy.grounding.phrases.grammar import (
    SHORT,
    Language,
    abstaining,
    leading,
    mentions,
    openings,
    parts_of,
    phrases,
    repeated,
    replies,
    words,
)

_DOCUMENTS = parts_of(
    {
        "the": "(de|het|deze|dit|die|uw|mijn|onze|jouw|je)",
        "given": "(verstrekte|aangeleverde|gegeven|beschikbare|bijgevoegde|opgegeven|verkregen)",
    }
)

_PARTS = parts_of(
    {
        "that": """
            (dat|dit|dit onderwerp|dat onderwerp|het onderwerp)
            (deze|die|uw|je|jouw|de) vraag
        """,
        "info": """
            (geen|niet genoeg|niet voldoende|onvoldoende) [verdere|specifieke|exacte] \
                (informatie|details|gegevens|antwoord|vermelding)
        """,
        "about": """
            (over|omtrent|betreffende|met betrekking tot|op|van) (<that>|<topic>)
            (hierover|daarover|hierop|daarop)
        """,
        "wh": "(of|hoe|hoeveel|hoelang|hoe lang|wanneer|waar|wie|wat|welke|welk)",
        "say": """
            (vermeldt|vermelden|noemt|noemen|zegt|zeggen|beschrijft|beschrijven|beantwoordt|beantwoorden)
            (behandelt|behandelen|specificeert|specificeren|bespreekt|bespreken)
        """,
        "hold": "(bevat|bevatten|biedt|bieden|geeft|geven|verschaft|verschaffen)",
        "told": "(vermeld|genoemd|beschreven|gespecificeerd|besproken|beantwoord|aangegeven)",
        "plainly": "(expliciet|specifiek|duidelijk|uitdrukkelijk|rechtstreeks|helaas)",
    }
)

_COURTESIES = """
    (hallo|hoi|goedendag|goedemorgen|goedemiddag|goedenavond|dag|welkom|tot ziens|tot straks) [allemaal]
    (bedankt|dank u|dank je|dank u wel|dank je wel|hartelijk dank|hartelijk bedankt) [voor (uw|je|jouw|de) \
        (vraag|bericht|geduld)]
    [dat is een] (goede|uitstekende|hele goede) vraag
    (ik hoop dat|hopelijk) (dit|dat) (u|je|jou) helpt
    (ik hoop dat|hopelijk) (dit|dat) helpt
    hopelijk helpt (dit|dat) [u|je]
    ik hoop dat ik (u|je) (heb kunnen helpen|verder heb geholpen)
    ik help (u|je) graag [verder]
    (laat het me|laat het mij|laat me|laat het ons) [gerust|dan] weten
    (aarzel niet om|voel u vrij om|voel je vrij om) (te vragen|contact op te nemen|het te vragen|contact met ons \
        op te nemen)
    (stel ze gerust|vraag het gerust|neem gerust contact op|neem gerust contact met ons op)
    (als|mocht|indien) (u|je) (nog|meer|andere|verdere|nog andere) vragen (hebt|heeft|hebben)
    (heeft u|heb je|hebt u) (nog|meer|andere|verdere|nog andere) vragen
    (als|mocht|indien) (u|je) meer (informatie|hulp|details) (wilt|wil|nodig hebt|nodig heeft|willen)
    ik kan (u|je) [graag] meer (informatie|details) geven
    hier (is|zijn|vindt u|vind je) (het antwoord|een samenvatting|de informatie|de details|een overzicht)
    (dit is|hier is) wat ik (heb gevonden|gevonden heb|vond)
    (hoe|waarmee|waar) kan ik (u|je) [vandaag] [mee|verder] helpen
    kan ik (u|je) (nog|verder) (ergens|met iets anders) [mee] helpen
    is er nog iets [anders] waarmee ik (u|je) kan helpen
    """
_ASSENTS = """
    (natuurlijk|zeker|uiteraard|vanzelfsprekend|jazeker|graag|met plezier|geen probleem|oké|prima|akkoord)
    (graag gedaan|geen dank|perfect|absoluut|zeker weten|alstublieft|alsjeblieft|heel graag)
    """

DUTCH = Language(
    documents=mentions(
        """
        [<the>] [<given>] (document|documenten|documentatie|bron|bronnen|tekst|teksten|context|artikel|artikelen)
        [<the>] [<given>] (passage|passages|fragment|fragmenten|kennisbank|zoekresultaten|handleiding)
        [<the>] <given> (informatie|materiaal|inhoud|gegevens)
        """,
        _DOCUMENTS,
    ),
    courtesies=repeated(_COURTESIES),
    assents=repeated(_COURTESIES + _ASSENTS),
    questions=phrases(
        """
        wat (wilt u|wil je|zou u willen|zou je willen) [graag|precies|over <topic>] weten
        (welk|welke) <topic> (heeft u|hebt u|heb je|gebruikt u|gebruik je|zoekt u|zoek je|bedoelt u|bedoel je|wilt u)
        wat (is|zijn) (uw|je|jouw) <topic>
        (kunt u|kun je|zou u|zou je) (uw|je|de) vraag [kunnen] (verduidelijken|herhalen|herformuleren|toelichten)
        (kunt u|kun je|zou u|zou je) [dat] [kunnen] (verduidelijken|toelichten)
        (kunt u|kun je) (me|mij) (vertellen|zeggen)[,] <wh> <topic>
        (kunt u|kun je) (me|mij) meer (informatie|details|context) geven
        (wilt u|wil je) (meer weten|meer informatie|meer details) [over <topic>]
        (wilt u|wil je) meer over <topic> weten
        (heeft u|hebt u|heb je) (hulp|meer hulp|meer informatie|nog iets) nodig
        (heeft u|hebt u|heb je) (nog|andere|nog andere|meer) vragen [over <topic>]
        is er iets (specifieks|anders|in het bijzonder) dat (u|je) (wilt|wil) weten
        waarom (vraagt u|vraag je) dat
        """,
        _PARTS,
    ),
    abstentions=abstaining(
        """
        (het spijt me|het spijt mij|sorry|excuses|mijn excuses|pardon)[,] [maar]
        (helaas|jammer genoeg)[,]
        (volgens|op basis van|gebaseerd op|in) §[,]
        """,
        """
        (het spijt me|het spijt mij|sorry|excuses|mijn excuses) [zeer]
        [dat] weet ik [helaas] niet [precies]
        ik weet (het|dat) [helaas] niet [zeker|precies]
        ik weet [helaas] niet[,] <wh> <topic>
        ik weet het antwoord [helaas] niet
        ik weet het antwoord op <that> [helaas] niet
        ik ben [er] [helaas] niet zeker [van]
        ik (heb|vind|zie) [hierover|daarover|daar|hier] [helaas] <info> [<about>] [in §]
        (hierover|daarover) (heb ik|is|vind ik|zijn) [helaas] <info> [beschikbaar] [in §]
        ik (kan|kon|heb) [helaas] [hierover|daarover] <info> [<about>] [in §] (vinden|geven|gevonden|kunnen vinden)
        ik (kan|kon) (dat|dit|deze informatie|het antwoord) [helaas] niet [in §] (vinden|terugvinden)
        ik kan <that> [helaas] niet [op basis van §|met §] (beantwoorden|bevestigen|zeggen|bepalen)
        ik kan (u|je) [helaas] niet (zeggen|vertellen)[,] <wh> <topic>
        ik kan [helaas] niet (zeggen|bepalen|bevestigen|vaststellen)[,] <wh> <topic>
        ik kan (het|dat|dit|er) [helaas] (niet|geen antwoord) (zeggen|beantwoorden|bevestigen|bepalen|op geven)
        kan ik (het|dat|dit|<that>) [helaas] niet (zeggen|beantwoorden|bevestigen|bepalen)
        er (is|zijn) [hierover|daarover] [helaas] <info> [<about>] [beschikbaar] [in §]
        (dat|dit|deze informatie|die informatie|het antwoord|<topic>) (wordt|worden|is|zijn) [helaas] niet \
            [<plainly>] <told> in §
        (dat|dit|deze informatie|die informatie|het antwoord|<topic>) (wordt|worden|is|zijn) [helaas] in § niet \
            [<plainly>] <told>
        (dat|dit|deze informatie|die informatie|het antwoord) (wordt|is) [helaas] niet [<plainly>] <told>
        (dat|dit|deze informatie|die informatie|het antwoord) staat [helaas] niet in §
        in § (wordt|worden|is|zijn|staat|staan) (dat|dit|<topic>) [helaas] niet [<plainly>] [<told>]
        in § (wordt|is) niet [<plainly>] <told>[,] <wh> <topic>
        in § (staat|is|zijn|vind ik|wordt) [helaas] <info> [<about>] [gegeven|beschikbaar]
        § <say> (dat|dit|het|<that>|<topic>) [helaas] niet [<plainly>]
        § <say> [helaas] niet [<plainly>] [<topic>]
        § <say> [helaas] niet [<plainly>][,] <wh> <topic>
        § (zegt|zeggen) [hier|hierover|daarover] [helaas] niets [over|over <topic>|hierover|daarover]
        § <hold> [hierover|daarover] [helaas] <info> [<about>]
        <hold> § [hierover|daarover] <info> [<about>]
        <say> § (dat|dit|het|<that>|<topic>) niet [<plainly>]
        § <hold> (deze|die) informatie [<about>] [helaas] niet
        ik heb (deze|die) informatie [helaas] niet
        geen van § <say> [dat|dit|<topic>]
        """,
        """
        [,] (dus|daarom|en|maar|omdat|want|aangezien|zodat|daardoor)
        """,
        _PARTS,
    ),
    announces=phrases(
        """
        <topic> (bevat|bevatten|omvat|omvatten|dekt|dekken|biedt|bieden|heeft|hebben|zijn|is|vereist|vereisen)
        <topic> (bestaat uit|bestaan uit)
        <topic> (bevat|omvat|dekt|biedt) (het volgende|de volgende onderdelen)
        """,
        _PARTS,
    ),
    lead_ins=phrases(
        """
        (hier|dit|hieronder) (zijn|is|vindt u|volgen|volgt) (de|het) [volgende] <topic>
        (volg|neem) (deze|de|dit|het) [volgende] <topic>
        (de|het) <topic> (zijn|is) als volgt
        """,
        _PARTS,
    ),
    asking=words("of hoe hoeveel hoelang lang wanneer waar wie wat welke welk"),
    common=words("en niet is wordt zijn heeft was werd ook geen dat of"),
    small=words(
        "de het een van voor in op aan bij met naar uit over door om te tot uw je jouw jullie mijn ons onze hun haar "
        "zijn deze dit die u ik men we wij zich er"
    ),
    barred=words(
        "dat niet niets geen nooit niemand en of maar want omdat behalve zonder alleen slechts ook noch terwijl "
        "hoewel dus dan als tenzij toch wel nee ja zodat"
    ),
    labels=words(
        "kenmerken functies voordelen prijs prijzen tarief tarieven kosten betaling betalingen facturering "
        "terugbetaling terugbetalingen retour retourneren verzending levering leveringen dekking uitsluitingen "
        "uitzonderingen beperkingen limiet limieten termijn termijnen datum data openingstijden locatie adres "
        "contact telefoon hulp ondersteuning veiligheid privacy abonnement abonnementen plan plannen product "
        "producten dienst diensten naam type soort categorie hoeveelheid totaal land landen stad steden hoofdstad "
        "bevolking duur periode status waarde valuta aanvullende ingrediënten materialen volgende bedrag opzegging"
    ),
    fillers=words(
        "samenvatting overzicht inleiding conclusie details beschrijving vereisten voorwaarden stappen instructies "
        "procedure voorbeeld voorbeelden opmerking opmerkingen belangrijk belangrijkste beleid vragen antwoord "
        "resultaat resultaten optie opties informatie algemeen algemene punten veelgestelde aanbevelingen tips bron "
        "bronnen"
    ),
    steps=words("stap"),
    joins=words("en"),
    answers=words("ja nee waar onwaar"),
    loaded=words("gratis inbegrepen gedekt mogelijk toegestaan"),
    greetings=leading("(hallo|goedendag)", "[,、 ]+"),
    asks=openings(
        """
        [en] [van|voor|met|in|op|bij|tot|sinds|vanaf] (wat|hoe|hoeveel|hoelang|wanneer|waar|waarom|wie|welk|welke)
        (kunt u|kun je) (me|mij) (vertellen|zeggen|uitleggen) (wat|hoe|hoeveel|wanneer|waar|waarom|welk|welke)
        (waarmee|waarvoor|waaraan|waarop|leg uit|beschrijf|vat samen|noem|vertel me over|geef een overzicht)
        """
    ),
    adds=mentions(
        """
        (en|of|maar) (is|zijn|was|heeft|hebben|kan|kunnen|moet|moeten|mag|mogen|wordt|worden|dekt|kost)
        (leg uit|uitleggen|vertellen|zeggen|weten|weet) of
        """
    ),
    choices=mentions("(of|tussen|welk|welke|beter|beste)"),
    connectives=leading(
        """
        (bovendien|echter|maar|en)
        """,
        ",? ",
    ),
    refers=openings(
        """
        (hij|zij|ze|deze|dit|dat|hun|haar|beide|beiden|zijn|laatstgenoemde|eerstgenoemde|daar|daarmee|daarvoor|hiermee)
        die (is|zijn|was|waren|kan|kunnen|heeft|hebben)
        (het|er) (is|was|heeft|kost|wordt|kan|biedt|bevat|werd|geldt|duurt|zijn)
        (ja|nee|zeker|helaas)[,] (dat|het|u|je) (is|kan|kunt|mag|klopt|zijn|geldt) \
            [dat|het|u|je] [helaas] [niet|zo|mogelijk|niet mogelijk|niet zo]<end>
        """,
        SHORT,
    ),
    verbs=mentions(
        """
        (heeft|hebben|kost|kosten|omvat|kan|kunnen|moet|wordt|worden|werd|dekt|bedraagt|geldt|bevat|ligt|is|zijn|was|waren)
        """
    ),
    affirms=replies(
        """
        (ja|jazeker|jawel|natuurlijk|zeker|uiteraard|inderdaad|absoluut|klopt|zeker weten|vanzelfsprekend)
        ja[,] (natuurlijk|zeker|hoor|inderdaad|absoluut)
        """
    ),
    denies=replies(
        """
        (nee|neen|nooit|zeker niet|absoluut niet|natuurlijk niet|helemaal niet|in geen geval|onwaar|nog niet)
        (helaas|jammer genoeg) (niet|nee|nog niet|niet meer)
        helaas[,] nee
        (momenteel|op dit moment) niet
        nee[,] (helaas|helaas niet|sorry|nog niet|hoor)
        """
    ),
)

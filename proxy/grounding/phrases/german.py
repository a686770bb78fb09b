"""German."""

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
        "the": "(der|die|das|den|dem|diese|diesen|diesem|dieser|ihre|ihren|meine|meinen|unsere|unseren|deine|deinen)",
        "given": "(bereitgestellte|vorliegende|angegebene|gegebene|zur verfügung \
            gestellte|verfügbare|genannte)[n|r|s|m]",
    }
)

_PARTS = parts_of(
    {
        "that": """
            (das|dies|dieses thema|diesem thema|das thema)
            (diese|ihre|deine|die) frage
        """,
        "info": """
            (keine|keinerlei|nicht genügend|nicht genug) [weiteren|genauen|näheren|ausreichenden|konkreten] \
                (informationen|angaben|details|auskunft|antwort|hinweise)
            keine (information|antwort|auskunft|erwähnung|angabe)
        """,
        "about": """
            (zu|zum|zur|über|bezüglich|hinsichtlich) (<that>|<topic>)
            (darüber|dazu|hierzu|darauf)[, (ob|wie|wann|wo|wer|was|wie viel|wie \
                lange|welche|welcher|welches|welchen) <topic>]
        """,
        "wh": """
            (ob|wie|wann|wo|wer|wen|wem|was|wie viel|wie viele|wie lange|wie \
                hoch|welche|welcher|welches|welchen|woher|wohin)
        """,
        "say": """
            (erwähnt|erwähnen|nennt|nennen|sagt|sagen|erklärt|erklären|beschreibt|beschreiben|beantwortet|beantworten)
            (behandelt|behandeln|thematisiert|thematisieren|spezifiziert|spezifizieren|erläutert|erläutern)
        """,
        "hold": "(enthält|enthalten|bietet|bieten|liefert|liefern|gibt|geben|umfasst|umfassen)",
        "told": "(erwähnt|genannt|angegeben|beschrieben|erklärt|beantwortet|spezifiziert|thematisiert|erläutert)",
        "plainly": "(ausdrücklich|explizit|genau|konkret|direkt|näher|leider)",
    }
)

_COURTESIES = """
    (hallo|hi|guten tag|guten morgen|guten abend|grüß gott|servus|moin|willkommen|herzlich willkommen) [zusammen]
    (auf wiedersehen|tschüss|bis bald|bis dann|schönen tag noch|einen schönen tag [noch])
    (danke|vielen dank|danke schön|besten dank|herzlichen dank) [für (ihre|deine|die) \
        (frage|nachricht|anfrage|geduld)]
    danke der nachfrage
    [das ist eine] (gute|sehr gute|ausgezeichnete|interessante) frage
    ich hoffe[,] (das hilft|dies hilft|das hilft ihnen|das hilft dir|das hilft ihnen weiter|das hilft dir weiter)
    ich hoffe[,] (ich konnte ihnen helfen|ich konnte dir helfen|ich konnte helfen)
    ich helfe (ihnen|dir) gerne [weiter]
    (lassen sie es mich|lass es mich|lassen sie mich|lass mich) [gerne] wissen
    (melden sie sich|melde dich) [gerne|einfach|jederzeit] [bei mir|bei uns]
    (fragen sie|frag|frage) (gerne|einfach|jederzeit) [nach|noch einmal]
    (zögern sie nicht|zögere nicht)[,] (zu fragen|mich zu fragen|mich zu kontaktieren|uns zu kontaktieren)
    (falls|wenn|sollten) sie (weitere|noch|noch weitere|andere) fragen [haben]
    (falls|wenn) du (weitere|noch|noch weitere|andere) fragen hast
    (falls|wenn) sie (weitere|mehr) (informationen|hilfe|unterstützung|details) \
        (benötigen|brauchen|wünschen|möchten)
    (falls|wenn) du (weitere|mehr) (informationen|hilfe|unterstützung|details) (benötigst|brauchst|möchtest)
    ich stehe (ihnen|dir) gerne zur verfügung
    ich kann (ihnen|dir) gerne (weitere|mehr) (informationen|details|einzelheiten) (geben|nennen)
    hier (ist|sind|finden sie|findest du) (die antwort|eine zusammenfassung|die informationen|die details|eine \
        übersicht)
    (hier ist[,] was ich gefunden habe|das habe ich gefunden)
    (wie|womit) kann ich [ihnen|dir] [heute] (helfen|weiterhelfen)
    kann ich (ihnen|dir) (sonst noch|noch) [irgendwie|bei etwas|mit etwas] (helfen|weiterhelfen)
    gibt es (sonst noch|noch) etwas[, (wobei|womit|bei dem) ich (ihnen|dir) helfen kann]
    """
_ASSENTS = """
    (natürlich|selbstverständlich|gerne|gern|klar|sicher|aber sicher|na klar|auf jeden fall|kein problem)
    (in ordnung|einverstanden|alles klar|okay|bitte|bitte schön|bitte sehr|gern geschehen|gerne geschehen)
    (nichts zu danken|perfekt|prima|sehr gerne|sehr gern|super)
    """

GERMAN = Language(
    documents=mentions(
        """
        [<the>] [<given>] (dokument[e|en|s]|dokumentation|quelle[n]|text[e|en]|kontext[e|en]|artikel[n]|textstelle[n])
        [<the>] [<given>] (auszug|auszüge[n]|passage[n]|wissensdatenbank|suchergebnisse[n]|handbuch|unterlagen)
        [<the>] <given> (informationen|materialien|inhalte[n]|daten)
        """,
        _DOCUMENTS,
    ),
    courtesies=repeated(_COURTESIES),
    assents=repeated(_COURTESIES + _ASSENTS),
    questions=phrases(
        """
        was (möchten sie|möchtest du|wollen sie|willst du) [gerne|genau|über <topic>] wissen
        (welche|welchen|welches|welcher) <topic> (haben sie|hast du|nutzen sie|nutzt du|verwenden sie|suchen \
            sie|suchst du)
        (welche|welchen|welches|welcher) <topic> (meinen sie|meinst du|möchten sie|möchtest du|benötigen sie)
        (was|wie) (ist|lautet|sind|lauten) (ihr|ihre|dein|deine) <topic>
        (können|könnten) sie (ihre|die) frage [bitte] (präzisieren|klären|umformulieren|wiederholen|genauer formulieren)
        (kannst|könntest) du (deine|die) frage [bitte] (präzisieren|klären|umformulieren|wiederholen|genauer \
            formulieren)
        (können|könnten) sie [mir] [bitte] [das] (näher erläutern|präzisieren|genauer erklären)
        (können|könnten) sie mir [bitte] (sagen|mitteilen)[,] <wh> <topic>
        (kannst|könntest) du mir [bitte] (sagen|mitteilen)[,] <wh> <topic>
        (können|könnten) sie mir [bitte] (mehr|weitere) (informationen|details|angaben) [geben|nennen]
        (kannst|könntest) du mir [bitte] (mehr|weitere) (informationen|details|angaben) [geben|nennen]
        (möchten sie|möchtest du|wollen sie|willst du) (mehr [erfahren|wissen]|weitere informationen|mehr \
            informationen|mehr details)
        (möchten sie|möchtest du|wollen sie|willst du) mehr über <topic> (wissen|erfahren)
        (benötigen sie|brauchen sie|brauchst du|benötigst du) (hilfe|noch hilfe|weitere informationen|mehr \
            informationen|noch etwas)
        (haben sie|hast du) (weitere|noch|noch weitere|eine) (fragen|frage) [zu <topic>|zum <topic>|zur <topic>]
        (gibt es etwas|gibt es noch etwas)[,] (was|das) (sie|du) [noch] wissen (möchten|möchtest)
        warum (fragen sie|fragst du)
        """,
        _PARTS,
    ),
    abstentions=abstaining(
        """
        (es tut mir leid|tut mir leid|entschuldigung|verzeihung|entschuldigen sie|sorry)[,] [aber]
        (leider|bedauerlicherweise)
        (laut|gemäß|nach|basierend auf|auf grundlage|anhand|in|im) §[,]
        """,
        """
        (es tut mir [sehr] leid|tut mir [sehr] leid|entschuldigung|verzeihung)
        [das] weiß ich [leider] nicht [genau]
        ich weiß [es|das|darauf] [leider] nicht [genau]
        ich weiß (leider nicht|nicht)[,] <wh> <topic>
        ich weiß [darauf] [leider] keine antwort [auf <that>]
        ich (kenne|habe) [leider] (die antwort|keine antwort|die antwort nicht) [nicht] [auf <that>]
        ich bin [mir] [leider] nicht sicher
        ich bin mir [leider] nicht sicher[,] <wh> <topic>
        (ich habe|mir liegen|mir liegt|es gibt|es liegen|uns liegen) [mir] [leider] <info> [<about>] [(in|im) §] [vor]
        (dazu|hierzu|darüber) (habe ich|liegen mir|gibt es|finde ich|liegen) [leider] <info> [vor] [(in|im) §]
        ich (finde|konnte|kann|habe) [leider] <info> [<about>] [(in|im) §] [finden|gefunden|geben]
        ich (konnte|kann) (das|dies|diese information|die antwort) [leider] nicht [(in|im) §] finden
        ich (konnte|kann) [leider] (das|dies|diese information|die antwort) (in|im) § nicht finden
        ich kann <that> [leider] nicht [anhand §|mit §|auf grundlage §|aus §] (beantworten|sagen|bestätigen|ermitteln)
        ich kann [ihnen|dir] [leider] nicht (sagen|bestätigen|bestimmen|ermitteln|beurteilen)[,] <wh> <topic>
        ich kann [ihnen|dir] [das|dies|es] [leider] nicht (sagen|beantworten|bestätigen|bestimmen|beurteilen)
        ich kann [ihnen|dir] [dazu|darüber|hierzu] [leider] (keine auskunft|keine informationen|keine \
            antwort|nichts) (geben|sagen)
        kann ich [ihnen|dir] [das|dies|es|<that>] [leider] nicht (sagen|beantworten|bestätigen|bestimmen)
        kann ich [ihnen|dir] [dazu|darüber|hierzu] [leider] keine (auskunft|antwort|informationen) geben
        (die|eine) antwort (ist|steht|findet sich) nicht (in|im) § [enthalten]
        (das|dies|diese information|die antwort|<topic>) (wird|werden) [leider] [(in|im) §] nicht [<plainly>] \
            [(in|im) §] <told>
        (das|dies|diese information|die antwort|<topic>) (ist|sind) [(in|im) §] nicht [<plainly>] [(in|im) §] \
            (erwähnt|angegeben|beschrieben|beantwortet)
        (das|dies|diese information|die antwort|<topic>) (geht|gehen) [aus §] nicht [<plainly>] [aus §] hervor
        (das|dies|diese information|die antwort) steht nicht (in|im) §
        (dazu|hierzu|darüber) steht [leider] nichts (in|im) §
        (in|im|aus) § (wird|werden|geht|gehen) [leider] (das|dies|<topic>) nicht [<plainly>] (<told>|hervor)
        (in|im|aus) § (wird|geht) nicht [<plainly>] (<told>|hervor)[,] <wh> <topic>
        (in|im) § (gibt es|finde ich|finden sich|findet sich|stehen|steht|wird) [leider] <info> [<about>] [gegeben]
        § <say> (das|dies|es|dazu|<that>|<topic>) [leider] nicht [<plainly>]
        § <say> [leider] nicht[,] <wh> <topic>
        § (sagt|sagen) [dazu|darüber] [leider] nichts [<about>|dazu|darüber]
        § <say> nicht [<plainly>] <topic>
        § <hold> [leider] <info> [<about>]
        <hold> § <info> [<about>]
        <say> § (das|dies|es|<that>|<topic>) nicht [<plainly>]
        § <hold> (diese|die) (information|informationen|antwort) [<about>] [leider] nicht
        ich habe diese (information|informationen) [leider] nicht
        (keiner|keines|keine) der § <say> [das|dies|<topic>]
        """,
        """
        [,] (daher|deshalb|deswegen|also|und|aber|weil|da|denn|sodass|so dass|weshalb)
        """,
        _PARTS,
    ),
    announces=phrases(
        """
        <topic> (umfasst|umfassen|enthält|enthalten|beinhaltet|beinhalten|bietet|bieten|hat|haben|sind|ist)
        <topic> (lauten|lautet|besteht aus|bestehen aus|setzt sich zusammen aus|deckt ab)
        <topic> (sind|sind die|umfasst|enthält|beinhaltet|bietet|deckt) \
            (folgende|folgenden|folgendes) [teile|schritte|punkte|leistungen]
        <topic> (gehören|gehört|sind enthalten)
        """,
        _PARTS,
    ),
    lead_ins=phrases(
        """
        (hier|dies|das|folgende|nachfolgend) (sind|ist) (die|der|das) [folgenden] <topic>
        (folgen sie|folge|befolgen sie|beachten sie) (diesen|den|die|diese) [folgenden] <topic>
        (die|der|das) <topic> (sind|ist|lauten|lautet) wie folgt
        """,
        _PARTS,
    ),
    asking=words("ob wie wann wo wer wen wem was viel viele lange hoch welche welcher welches welchen woher wohin"),
    common=words("und oder nicht ist war sind wird wurde werden wurden hat haben kein keine auch als"),
    small=words(
        "der die das den dem des ein eine einen einem einer eines zu zum zur in im an am auf aus bei mit nach von "
        "vom für über durch um ihr ihre ihren ihrem ihrer mein meine meinen meinem meiner dein deine deinen unser "
        "unsere diese dieser dieses diesen diesem sich ich sie du man es wir"
    ),
    barred=words(
        "nicht nichts kein keine keinen keinem keiner keinerlei nie niemals niemand und oder aber sondern weil denn "
        "da dass daß außer ohne sonst nur auch sowie sowohl weder noch obwohl während damit sodass falls wenn als "
        "statt jedoch doch dann"
    ),
    labels=words(
        "merkmale funktionen vorteile preis preise tarif tarife kosten gebühr gebühren zahlung zahlungen abrechnung "
        "erstattung erstattungen rückerstattung rückgabe rücksendung versand lieferung lieferungen deckung "
        "ausschlüsse ausnahmen einschränkungen grenzen frist fristen datum termine öffnungszeiten standort adresse "
        "kontakt telefon hilfe sicherheit datenschutz plan pläne produkt produkte dienst dienste leistungen name typ "
        "art kategorie menge gesamt land länder stadt städte hauptstadt einwohner dauer zeitraum status wert währung "
        "weitere zutaten material materialien nächste betrag laufzeit kündigung"
    ),
    fillers=words(
        "zusammenfassung überblick übersicht einleitung einführung fazit details einzelheiten beschreibung "
        "voraussetzungen anforderungen bedingungen schritte anleitung anweisungen ablauf beispiel beispiele hinweis "
        "hinweise anmerkung anmerkungen wichtig wichtige wichtigste richtlinie richtlinien fragen antwort ergebnis "
        "ergebnisse option optionen information informationen allgemein allgemeine punkte häufige empfehlungen tipps "
        "quelle quellen"
    ),
    steps=words("schritt"),
    joins=words("und"),
    answers=words("ja nein wahr falsch"),
    loaded=words("kostenlos gratis inbegriffen enthalten gedeckt abgedeckt möglich erlaubt"),
    greetings=leading("(hallo|guten tag|bitte)", "[,、 ]+"),
    asks=openings(
        """
        [und] [ab|bis|seit|für|mit|in|zu|von|auf] (wie|wann|wo|warum|weshalb|wieso|wer|wem|wen|wessen|welche)
        [und] [ab|bis|seit|für|mit|in|zu|von|auf] (welcher|welches|welchen|welchem|wieviel|woher|wohin|womit|wofür)
        [und] was (ist|sind|kostet|kosten|deckt|decken|umfasst|enthält|beinhaltet|bietet|bedeutet|heißt|gilt|passiert)
        [und] was (muss|müssen|kann|können|soll|sollte|darf|wird|werden|brauche|benötige|mache|tue|geschieht|gibt|genau)
        (können sie|könnten sie|kannst du) mir (sagen|erklären)[,] (was|wie|wann|wo|warum|wer|welche|welcher|welches)
        (erkläre|erklären sie|erklär|beschreibe|beschreiben sie|fasse|fassen sie|liste|nenne|nennen sie|erzähl)
        """
    ),
    adds=mentions(
        """
        (und|oder|aber) (ist|sind|war|hat|haben|kann|können|muss|müssen|darf|dürfen|wird|werden|gibt|gilt|deckt|kostet)
        ob
        """
    ),
    choices=mentions("(oder|zwischen|welche|welcher|welches|welchen|welchem|wer|wen|wem|besser|bessere|beste)"),
    connectives=leading(
        """
        (außerdem|jedoch|aber|und|zudem)
        """,
        ",? ",
    ),
    refers=openings(
        """
        (er|es|dieser|diese|dieses|diesen|diesem|dies|jener|jene|jenes|sein|seine|seinen|ihr|ihre|ihren|beide|beides)
        sie (ist|sind|war|waren|hat|wird|werden|kostet|kosten|gilt|gelten|umfasst|umfassen|bietet|bieten|dauert)
        das (ist|sind|war|waren|wird|kostet|gilt|bedeutet|heißt|umfasst|dauert)
        (letzterer|letztere|letzteres|ersterer|erstere|ersteres|dort|deren|dessen|damit|dafür|davon|darin|dazu|derselbe)
        (ja|nein|natürlich|leider)[,] (das|es|sie|er|man) (ist|sind|kann|können|darf|dürfen|geht|stimmt|hat|wird|gilt) \
            [leider] [nicht|es|sie|so|man|möglich|richtig|nicht möglich|nicht so|nicht der fall|der fall]<end>
        (ja|nein)[,] (das|es) (können|dürfen|kannst|darfst|müssen|musst) (sie|du) [leider] [nicht]<end>
        (ja|nein)[,] (sie|du) (können|dürfen|kannst|darfst) [das|es] [leider] [nicht]<end>
        """,
        SHORT,
    ),
    verbs=mentions(
        """
        (ist|sind|haben|kostet|kosten|umfasst|kann|können|muss|wird|werden|wurde|deckt|beträgt|gilt|enthält|liegt|gibt|hat|sei)
        """
    ),
    affirms=replies(
        """
        (ja|jawohl|doch|natürlich|selbstverständlich|klar|sicher|genau|richtig|auf jeden fall|gewiss|stimmt)
        ja[,] (natürlich|klar|sicher|gerne|selbstverständlich|auf jeden fall|das ist so)
        """
    ),
    denies=replies(
        """
        (nein|nö|niemals|nie|keineswegs|keinesfalls|auf keinen fall|natürlich nicht|sicher nicht|gar nicht|falsch)
        (leider|bedauerlicherweise) (nein|nicht|noch nicht|nicht mehr)
        (noch|derzeit|momentan|zurzeit|aktuell) nicht
        nein[,] (leider|leider nicht|tut uns leid|noch nicht|natürlich nicht|auf keinen fall)
        """
    ),
    capital_nouns=True,
)

"""Italian."""

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
        "given": """
            (fornit|consultat|recuperat|dat|messi a disposizion)(o|a|i|e)
            (a mia disposizione|che ho|che mi (hai|ha|avete) fornito|in mio possesso)
            di riferimento
        """,
        "the": "(il|lo|la|i|gli|le|questo|questa|questi|queste|suoi|tuoi|miei|vostri)",
    }
)

_PARTS = parts_of(
    {
        "that": """
            (questo|ciò|quello|questo argomento|questo tema|l'argomento|questo punto)
            (questa|la|sua|tua|alla sua|alla tua|alla|a questa) domanda
        """,
        "info": """
            [alcuna|questa|nessuna|sufficiente|la] (informazione|menzione|risposta|indicazione)
            [abbastanza|sufficienti|queste|altre|le|ulteriori] (informazioni|dettagli|indicazioni)
            (una|la|alcuna) risposta
        """,
        "about": """
            [sufficienti|specifiche] (su|sul|sullo|sulla|sui|sugli|sulle|riguardo a|riguardo al|riguardo \
                alla|riguardanti) (<that>|<topic>)
            [sufficienti|specifiche] (riguardo ai|riguardo alle|relative a|relative al|relative alla|in merito a|in \
                merito al|in merito alla) <topic>
            [sufficienti|specifiche] (sull'|riguardo all'|dell'|relative all'|in merito all')<topic>
            (di|del|dello|della|dei|degli|delle|per) <topic>
            (al riguardo|in merito|in proposito|sufficienti|specifiche)
        """,
        "wh": "(se|quanto|quanta|quanti|quante|quando|dove|come|chi|quale|quali|qual|che cosa|cosa|a chi|a che)",
        "ask": "(<wh> <topic>|<that>|<topic>)",
        "say": """
            (menziona|specifica|indica|precisa|spiega|tratta|affronta|chiarisce|descrive)[no]
            (dice|dicono|menzionano|specificano|chiariscono|descrivono|riporta|riportano|parla|parlano)
        """,
        "hold": "(contiene|contengono|fornisce|forniscono|offre|offrono|dà|danno|riporta|riportano)",
        "told": "(menzionat|specificat|indicat|descritt|riportat|spiegat|precisat|trattat)(o|a|i|e)",
        "plainly": "(esplicitamente|specificamente|chiaramente|espressamente|direttamente)",
        "in": "(in|nel|nei|nella|nelle|negli|nello)",
    }
)

_COURTESIES = """
    (ciao|salve|buongiorno|buonasera|buon giorno|buona sera|benvenuto|benvenuta|benvenuti|arrivederci|a presto) \
        [a tutti]
    (grazie|grazie mille|molte grazie) [per (la tua|la sua|la|averlo) (domanda|pazienza|richiesta|chiesto)|della \
        domanda|per aver chiesto]
    [è una|questa è una] (buona|bella|ottima|eccellente) domanda
    spero che (questo|ciò|queste informazioni) (ti|le|vi) (aiuti|aiutino|sia utile|siano utili|sia d'aiuto)
    spero che (questo|ciò) sia (utile|d'aiuto)
    spero di (esserti stato utile|esserle stato utile|averti aiutato|averla aiutata|aver risposto alla tua domanda)
    non esitare a (chiedere|contattarmi|contattarci|chiedermi|farmelo sapere|scrivermi)
    non esiti a (chiedere|contattarmi|contattarci|chiedermi|farmelo sapere|scrivermi)
    (fammelo|me lo faccia|fammi|mi faccia) sapere
    (dimmelo|me lo dica) [pure]
    se (hai|ha|avete) (altre|ulteriori|qualche altra|delle) (domande|domanda|dubbi)
    se (hai|ha|avete) bisogno di (altro|aiuto|ulteriori informazioni|maggiori informazioni|altre informazioni)
    se (vuoi|vuole|desidera|desideri) (saperne di più|maggiori informazioni|ulteriori informazioni|più dettagli)
    posso (darti|darle|fornirti|fornirle) (maggiori|ulteriori|più) (informazioni|dettagli)
    sono (qui per aiutarti|qui per aiutarla|a tua disposizione|a sua disposizione|a disposizione)
    ecco (la risposta|un riepilogo|il riepilogo|le informazioni|i dettagli|una sintesi|quello che ho \
        trovato|cosa ho trovato)
    (come|in che modo) posso (aiutarti|aiutarla|aiutarvi|esserti utile|esserle utile) [oggi]
    posso (aiutarti|aiutarla) (con altro|in altro|con qualcos'altro)
    (c'è altro|c'è qualcos'altro) (in cui|con cui|per cui) posso (aiutarti|aiutarla|esserti utile)
    """
_ASSENTS = """
    (certo|certamente|naturalmente|ovviamente|senz'altro|volentieri|con piacere|nessun problema|va bene|perfetto)
    (d'accordo|di niente|di nulla|prego|ottimo|certo che sì|assolutamente|molto volentieri|capito|non c'è di che)
    """

ITALIAN = Language(
    documents=mentions(
        """
        [<the>] (document|test|contest)(o|i) [<given>|disponibil(e|i)]
        [<the>] (documentazione|font(e|i)|manuale|passaggi|passaggio|brano|brani|base di conoscenza) \
            [<given>|disponibil(e|i)]
        [<the>] (estratti|risultati della ricerca) [<given>]
        (l'|all'|nell'|dell'|un )(articolo|estratto) [<given>]
        [<the>] (informazioni|materiale|materiali|contenuti) <given>
        """,
        _DOCUMENTS,
    ),
    courtesies=repeated(_COURTESIES),
    assents=repeated(_COURTESIES + _ASSENTS),
    questions=phrases(
        """
        (cosa|che cosa) (vorresti|vorrebbe|vuoi|vuole|desidera|ti piacerebbe|le piacerebbe) sapere [esattamente|di \
            preciso|su <topic>]
        (qual è|quali sono) (il|la|i|le) (tuo|tua|tuoi|tue|suo|sua|suoi|sue) <topic>
        (quale|quali|che) <topic> (hai|ha|usi|usa|utilizzi|utilizza|cerchi|cerca|preferisci|preferisce|ti serve|le \
            serve)
        (a|di) (quale|quali|che) <topic> (ti riferisci|si riferisce|stai parlando|sta parlando)
        (puoi|può|potresti|potrebbe) (dirmi|indicarmi|confermarmi|specificare|precisare|chiarire) <wh> <topic>
        (puoi|può|potresti|potrebbe) (chiarire|specificare|riformulare|ripetere|precisare) la (tua|sua) \
            (domanda|richiesta)
        (puoi|può|potresti|potrebbe) (darmi|fornirmi) (più|maggiori|ulteriori) (dettagli|informazioni)
        (puoi|può|potresti|potrebbe) essere più (specifico|specifica|preciso|precisa)
        (vuoi|vuole|desideri|desidera|ti interessa|le interessa) (saperne di più|maggiori informazioni|ulteriori \
            informazioni|più dettagli) [su <topic>|sul <topic>|sulla <topic>]
        (hai|ha) bisogno di (aiuto|altro|ulteriori informazioni|maggiori informazioni) [con <topic>]
        (hai|ha) (altre domande|qualche altra domanda|domande) [su <topic>|sul <topic>|sulla <topic>]
        c'è qualcosa (di specifico|di preciso|in particolare|d'altro) che (vuoi|vuole|vorresti|vorrebbe|desidera) sapere
        perché lo (chiedi|chiede)
        """,
        _PARTS,
    ),
    abstentions=abstaining(
        """
        (mi dispiace|mi spiace|spiacente|sono spiacente|scusa|scusi|chiedo scusa)[,] [ma]
        (purtroppo|sfortunatamente)[,]
        (temo|mi dispiace) che
        (secondo|in base a|in base ai|in base al|in base alla|stando a|stando \
            ai|dai|dal|dalla|nel|nei|nella|nelle|sulla base di|sulla base dei) §[,]
        """,
        """
        (mi dispiace|mi spiace|sono spiacente|chiedo scusa) [molto|davvero]
        non lo so [con (certezza|precisione|esattezza)]
        non so [rispondere|la risposta|<wh> <topic>|nulla <about>]
        non (conosco|ho) (la|una) risposta [a <that>|alla <that>]
        non sono (sicuro|sicura|certo|certa) [della risposta|di questo]
        non (ho|abbiamo|dispongo di|possiedo|vedo) <info> [<about>] [<in> §]
        non (trovo|ho trovato|abbiamo trovato|riesco a trovare|sono riuscito a trovare|posso trovare) <info> \
            [<about>] [<in> §]
        non (riesco a trovare|ho trovato|trovo) (questo|ciò) [<in> §]
        non (posso|riesco a) (fornire|dare|darti|darle|fornirti|fornirle) <info> [<about>]
        non (posso|riesco a|sono in grado di|è possibile) \
            (rispondere|determinarlo|dirlo|confermarlo|saperlo|stabilirlo) [a <that>|alla <that>] [con §|in base a \
            §|in base ai §]
        non (posso|riesco a|sono in grado di|è possibile) (dire|determinare|confermare|sapere|stabilire|dirti|dirle) \
            <wh> <topic>
        non (posso|riesco a|sono in grado di) (risponderti|risponderle|aiutarti con questo|aiutarla con questo)
        non (ci sono|c'è) <info> [disponibil(e|i)] [<about>] [<in> §]
        (questo|ciò|questa informazione|l'informazione|la risposta|<topic>) non (è|sono|viene|vengono) [<plainly>] \
            <told> [<plainly>] <in> §
        (questo|ciò|questa informazione|l'informazione|la risposta|<topic>) non \
            (compare|compaiono|appare|appaiono|risulta|risultano) <in> §
        (questo|ciò|questa informazione|l'informazione|la risposta) non (è|viene) [presente|disponibile|<told>] [<in> §]
        § non lo <say> [<plainly>]
        § non <say> [<plainly>]
        § non <say> [<plainly>] (nulla [<about>]|niente [<about>]|<ask>|<info> [<about>])
        § non <hold> <info> [<about>]
        nessuno (dei|di|degli) § <say> [<ask>]
        <in> § non (è|sono|viene|vengono|si) (<told>|menziona|indica|specifica) [<ask>]
        <in> § non (ci sono|c'è|trovo|ho trovato|compare|risulta) <info> [<about>]
        """,
        """
        [,] (quindi|perciò|pertanto|ma|e|perché|poiché|dato che|per cui|così)
        """,
        _PARTS,
    ),
    announces=phrases(
        """
        <topic> (contiene|contengono|include|includono|comprende|comprendono|copre|coprono|offre|offrono|sono|è)
        <topic> (è composto da|è composta da|richiede|richiedono|prevede|prevedono)
        <topic> (contiene|include|comprende|copre) (quanto segue|i seguenti elementi)
        """,
        _PARTS,
    ),
    lead_ins=phrases(
        """
        (ecco|segui|segua|questi sono|queste sono|di seguito) (i|gli|le|questi|queste|la|il) <topic>
        (i|gli|le) <topic> sono (i|le) seguenti
        (il|la) <topic> è (il|la) seguente
        """,
        _PARTS,
    ),
    asking=words("se quanto quanta quanti quante quando dove come chi quale quali qual cosa che"),
    common=words("che non è sono sarà stato stata"),
    small=words(
        "il lo la i gli le l un uno una di del dello della dei degli delle d dell da dal dallo dalla dai dalle a al "
        "allo alla ai agli alle all in nel nello nella nei negli nelle nell con su sul sullo sulla sui sulle sull "
        "per tra fra suo sua suoi sue mio mia miei mie tuo tua tuoi tue nostro nostra questo questa questi queste "
        "quel si ci mi ti vi"
    ),
    barred=words(
        "non né mai nulla niente nessuno nessuna nessun e ed o od ma però perché poiché come mentre tranne salvo "
        "eccetto oltre solo soltanto anche senza che chi quale dove sebbene anzi quindi dunque già così"
    ),
    labels=words(
        "caratteristiche funzioni funzionalità vantaggi benefici prezzo prezzi tariffa tariffe costo costi spese "
        "pagamento pagamenti fatturazione rimborso rimborsi reso resi spedizione spedizioni consegna consegne "
        "copertura coperture esclusioni eccezioni limitazioni limite limiti scadenza scadenze data date orario orari "
        "posizione indirizzo contatto contatti telefono assistenza supporto sicurezza privacy piano piani prodotto "
        "prodotti servizio servizi nome tipo categoria quantità totale paese paesi città capitale popolazione durata "
        "periodo stato valore valuta aggiuntive aggiuntivi documenti materiali ingredienti prossimi"
    ),
    fillers=words(
        "riepilogo riassunto sintesi introduzione conclusione conclusioni dettaglio dettagli descrizione requisiti "
        "condizioni passaggi passi istruzioni procedura processo esempio esempi nota note importante importanti "
        "politica domande risposta risultato risultati opzione opzioni informazione informazioni generale generali "
        "principale principali chiave punti frequenti metodi raccomandazioni consigli fonte fonti riferimenti"
    ),
    steps=words("passo passaggio"),
    joins=words("e ed"),
    answers=words("sì no vero falso"),
    loaded=words("incluso inclusa compreso compresa coperto coperta possibile consentito consentita gratuito gratuita"),
    greetings=leading("(ciao|buongiorno)", "[,、 ]+"),
    asks=openings(
        """
        [e] [a|di|da|in|con|per|su|fino a] (che|cosa|che cosa|quando|dove|quanto|quanta|quanti|quante|quale|quali)
        [e] come (posso|si|funziona|funzionano|faccio|fare|devo|viene|vengono|è|sono|mai|va|ottengo|cambio|annullo)
        [e] [a|di|da|in|con|per|su] (chi|perché|qual)
        (puoi|può|potresti|potrebbe) (dirmi|spiegarmi|indicarmi) (che|cosa|come|quando|dove|quanto|quale|quali)
        (cos'è|com'è|dov'è|spiega|spiegami|descrivi|descriva|riassumi|riassuma|elenca|elenchi|parlami)
        """
    ),
    adds=mentions(
        """
        (e|ed|o|oppure|ma) [si|mi] (è|sono|c'è|ci sono|ha|hanno|posso|può|possono|devo|deve|copre|include|costa)
        (spiega|spiegami|spiegarmi|dirmi|sapere|so) se
        """
    ),
    choices=mentions("(o|oppure|tra|fra|quale|quali|qual|chi|meglio|migliore)"),
    connectives=leading(
        """
        (inoltre|tuttavia|ma|e)
        """,
        ",? ",
    ),
    refers=openings(
        """
        (egli|lui|lei|esso|essa|essi|esse|loro|questo|questa|questi|queste|quello|quella|quelli|quelle|quest'ultimo)
        (suo|sua|suoi|sue|entrambi|entrambe|il primo|la prima|il secondo|la seconda|quest'ultima|lì|là|il suo|la sua)
        (è|sono|ha|hanno|costa|costano|include|includono|offre|offrono|consente|contiene|contengono|copre|coprono)
        (fu|furono|era|erano|dura|durano|i suoi|le sue)
        (sì|no|certo|purtroppo)[,] [non] [lo|la|si|ci] (è|sono|può|puoi|possono|ha|fa) [così|possibile]<end>
        """,
        SHORT,
    ),
    verbs=mentions(
        """
        (è|sono|costa|costano|include|includono|copre|coprono|offre|può|possono|deve|contiene)
        (dura|sta|ha|hanno|c'è|ci sono|sia|siano)
        """
    ),
    affirms=replies(
        """
        (sì|certo|certamente|certo che sì|naturalmente|ovviamente|esatto|assolutamente sì|senz'altro|vero)
        sì[,] (certo|certamente|naturalmente|assolutamente)
        """
    ),
    denies=replies(
        """
        (no|mai|assolutamente no|certo che no|niente affatto|per niente|in nessun caso|falso|non ancora)
        (purtroppo|sfortunatamente)[,] (no|non ancora)
        (mi dispiace|ci dispiace|spiacenti)[,] [ma] no
        no[,] (purtroppo|mi dispiace|ci dispiace|spiacenti|non ancora)
        """
    ),
)

"""French."""

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
            (fourni|donné|consulté|récupéré|transmis)[e][s]
            (que j'ai|dont je dispose|que vous (avez|m'avez) (fournis|fourni|fournies|transmis|donnés))
            (qui m'ont été fournis|mis à ma disposition|à ma disposition)
            de référence
        """,
        "the": "(le|la|les|ce|cet|cette|ces|vos|votre|mes|mon|nos|notre|l'|aux|au)",
    }
)

_PARTS = parts_of(
    {
        "that": """
            (cela|ça|ceci|ce sujet|ce point|le sujet)
            (cette|la|votre|ta) question
        """,
        "info": """
            (d'informations|d'information|de détails|de précisions|de réponse|de mention) [suffisantes|suffisants]
            (aucune|cette|l'|une|la) (information|réponse|mention|précision)
            (ces|les|des|assez d'|suffisamment d') (informations|détails|précisions)
            (assez|suffisamment) (d'informations|de détails|d'éléments)
            (aucun|ce) (détail|renseignement)
            trace de (cela|cette information)
        """,
        "about": """
            (sur|concernant|au sujet de|à propos de|relative à|relatives à|quant à) (<that>|<topic>)
            (de|du|des|pour|au sujet du|à propos du|relative au|quant au) <topic>
            d'<topic>
            à ce sujet
        """,
        "wh": """
            (si|s'|combien|quand|où|comment|qui|ce que|quel|quelle|quels|quelles)
            (à quel|à quelle|de quel|de quelle|à partir de quand)
        """,
        "ask": "(<wh> <topic>|<that>|<topic>)",
        "say": """
            (mentionne|indique|précise|explique|décrit|décrive|évoque|aborde|traite|spécifie|stipule|détaille)[nt]
            (disent|dit|décrivent|parle|parlent|répond|répondent)
        """,
        "hold": "(contient|contiennent|comporte|comportent|fournit|fournissent|donne|donnent|offre|offrent)",
        "told": "(mentionné|indiqué|précisé|spécifié|décrit|détaillé|expliqué|abordé|évoqué)[e][s]",
        "plainly": "(explicitement|spécifiquement|clairement|expressément|directement)",
    }
)

_COURTESIES = """
    (bonjour|bonsoir|salut|coucou|bienvenue|au revoir|à bientôt|bonne journée|bonne soirée) [à tous|et bienvenue]
    merci [beaucoup|bien] [pour (votre|ta) (question|message|patience|intérêt)|de votre (message|patience)]
    merci [d'avoir (demandé|posé la question|posé cette question)]
    [c'est une] (bonne|excellente|très bonne) question
    j'espère que (cela|ça|ces informations) (vous|t') (aide|aidera|aident|aideront|est utile|sera utile)
    j'espère (vous avoir aidé|t'avoir aidé|avoir répondu à votre question|avoir pu vous aider)
    n'hésitez pas [à (me|nous) (contacter|demander|poser vos questions|le dire|le faire savoir|solliciter)]
    n'hésitez pas à (demander|poser d'autres questions|revenir vers moi|revenir vers nous)
    n'hésite pas [à me (demander|le dire|poser d'autres questions)]
    (faites-le-moi|fais-le-moi|faites-moi|fais-moi) savoir
    (dites-le-moi|dis-le-moi|dites-moi)
    si vous avez (d'autres|des) questions
    si tu as (d'autres|des) questions
    si vous avez besoin (d'aide|de plus d'informations|d'autre chose|de précisions|de plus de détails)
    si tu as besoin (d'aide|de plus d'informations|d'autre chose|de précisions|de plus de détails)
    si vous (souhaitez|voulez|désirez) (plus d'informations|en savoir plus|plus de détails)
    je (suis|reste) (là pour vous aider|là pour t'aider|à votre disposition|à ta disposition)
    je peux vous (donner|fournir) plus (d'informations|de détails)
    voici (la réponse|un résumé|le résumé|les informations|les détails|ce que j'ai trouvé)
    voici les informations (demandées|que vous avez demandées)
    (comment|en quoi) puis-je (vous|t') aider [aujourd'hui]
    comment puis-je t'aider [aujourd'hui]
    puis-je vous aider (avec autre chose|pour autre chose)
    (y a-t-il autre chose|avez-vous besoin d'autre chose|souhaitez-vous autre chose)
    y a-t-il autre chose (que je puisse faire pour vous|pour laquelle je peux vous aider)
    """
_ASSENTS = """
    (bien sûr|bien entendu|certainement|absolument|tout à fait|avec plaisir|pas de problème|pas de souci)
    (d'accord|entendu|volontiers|parfait|super|très bien|de rien|je vous en prie|je t'en prie|avec grand plaisir)
    """

FRENCH = Language(
    documents=mentions(
        """
        [<the>] (document|texte|article|passage|extrait)[s] [<given>|disponible[s]]
        (l'|cet |cette )(article|extrait) [<given>]
        [<the>] (source[s]|documentation|contexte|manuel|base de connaissances) [<given>|disponible[s]]
        [<the>] résultats de [la] recherche [<given>]
        [<the>] (informations|contenu|contenus|éléments) <given>
        """,
        _DOCUMENTS,
    ),
    courtesies=repeated(_COURTESIES),
    assents=repeated(_COURTESIES + _ASSENTS),
    questions=phrases(
        """
        (que|qu'est-ce que) (souhaitez-vous|voulez-vous|vous souhaitez|vous voulez|tu veux|tu souhaites) savoir [sur \
            <topic>]
        (que souhaitez-vous|que voulez-vous|qu'aimeriez-vous|que veux-tu) savoir [exactement|de plus|sur <topic>]
        (quel|quelle|quels|quelles) (est|sont) (votre|vos|ton|ta|tes) <topic>
        (quel|quelle|quels|quelles) <topic> (avez-vous|utilisez-vous|cherchez-vous|préférez-vous|souhaitez-vous|as-tu)
        (de|à) (quel|quelle|quels|quelles) <topic> (parlez-vous|s'agit-il|faites-vous référence|pensez-vous)
        (pouvez-vous|pourriez-vous|peux-tu|pourrais-tu) [me] (préciser|clarifier|reformuler|répéter) (votre|ta|la) \
            (question|demande)
        (pouvez-vous|pourriez-vous|peux-tu|pourrais-tu) [me] (préciser|dire|indiquer) <wh> <topic>
        (pouvez-vous|pourriez-vous|peux-tu|pourrais-tu) [me] (donner|fournir) plus (de détails|d'informations|de \
            contexte)
        (pouvez-vous|pourriez-vous|peux-tu|pourrais-tu) être plus (précis|précise)
        (souhaitez-vous|voulez-vous|aimeriez-vous|désirez-vous|veux-tu) (en savoir plus|plus de détails|plus \
            d'informations) [sur <topic>]
        (souhaitez-vous|voulez-vous|aimeriez-vous) que je vous (aide|donne plus de détails|donne plus d'informations)
        (avez-vous|as-tu) (d'autres|une autre|des) (question|questions) [sur <topic>]
        (avez-vous|as-tu) besoin (d'aide|de plus d'informations|d'autre chose|de précisions)
        y a-t-il quelque chose (de précis|de particulier|en particulier) que vous (souhaitez|souhaitiez|vouliez) savoir
        pourquoi (posez-vous|poses-tu) (la|cette) question
        """,
        _PARTS,
    ),
    abstentions=abstaining(
        """
        (je suis [vraiment] (désolé|désolée)|désolé|désolée|navré|pardon|excusez-moi|je m'excuse)[,] [mais]
        (malheureusement|hélas)[,]
        je (crains|regrette)[,] (mais|que)
        (d'après|selon|dans|sur la base de|en me basant sur|à partir de) §[,]
        """,
        """
        (je suis [vraiment] (désolé|désolée)|désolé|désolée|je m'excuse|excusez-moi)
        je ne sais pas [<wh> <topic>]
        je (ne connais pas|ne connais pas encore|ignore) (la réponse|cette information) [à cette question]
        je ne (le sais pas|sais pas [exactement|avec certitude])
        je ne suis pas (sûr|sûre|certain|certaine) [de (cela|la réponse)]
        je (n'ai pas|n'ai|ne dispose pas|ne dispose|ne vois pas|ne vois) <info> [<about>] [dans §]
        je n'ai (pas trouvé|pas pu trouver|trouvé|pu trouver) <info> [<about>] [dans §]
        je n'ai pas (trouvé|pu trouver) (cela|la réponse) [dans §]
        je ne (trouve pas|trouve|parviens pas à trouver|peux pas trouver|peux trouver) <info> [<about>] [dans §]
        je ne (peux|suis) pas [en mesure de] (répondre|répondre à <that>) [à partir de §|avec §]
        je ne peux pas (le dire|le savoir|le confirmer|vous répondre|te répondre|vous aider sur ce point)
        je ne (peux|suis) pas [en mesure de] (dire|déterminer|confirmer|préciser|vous dire|vous indiquer) (<wh> \
            <topic>|cela)
        je ne (peux|suis) pas [en mesure de] (fournir|vous fournir|vous donner|donner) <info> [<about>]
        il n'y a (pas|aucune|aucun) (information|informations|mention|détail|d'information|d'informations|de \
            détails|de mention) [<about>] [dans §]
        (aucune|aucun) (information|mention|détail|réponse) [<about>] (n'est|n'a été) \
            (disponible|fournie|fourni|trouvée|trouvé|donnée) [dans §]
        (aucune|aucun) (information|mention|détail) [<about>] [dans §]
        (cela|ce|cette information|la réponse|l'information|<topic>) (n'est|ne sont) pas [<plainly>] <told> \
            [<plainly>] dans §
        (cela|ce|cette information|la réponse|l'information|<topic>) (n'apparaît|n'apparaissent|ne figure|ne \
            figurent) pas dans §
        (cela|ce|cette information|la réponse) (n'est|ne sont) pas (<told>|disponible|fournie) [dans §]
        § (ne |n')<say> [pas|rien] [<plainly>] [à ce sujet|sur ce point|<info> [<about>]]
        § (ne |n')<say> pas [<plainly>] <ask>
        § ne le <say> pas
        § ne <say> rien <about>
        § (ne |n')<hold> pas [<plainly>] <info> [<about>]
        § (ne |n')<hold> <info> [<about>]
        aucun (de |d'|des |de ces |de vos )§ (ne |n')<say> [<ask>]
        (il n'est|rien n'est) [pas] <told> [<wh> <topic>] dans §
        """,
        """
        [,] (donc|mais|et|car|alors|par conséquent|c'est pourquoi|parce que|puisque)
        """,
        _PARTS,
    ),
    announces=phrases(
        """
        <topic> (contient|contiennent|comprend|comprennent|inclut|incluent|couvre|couvrent|propose|proposent|sont|est)
        <topic> (se compose de|se composent de|comporte|comportent|offre|offrent)
        <topic> (contient|comprend|inclut|couvre|comporte) (ce qui suit|les éléments suivants)
        """,
        _PARTS,
    ),
    lead_ins=phrases(
        """
        (voici|voilà|suivez) (les|ces|la|le) <topic>
        (les|la|le) <topic> (sont les suivants|sont les suivantes|est le suivant|est la suivante)
        """,
        _PARTS,
    ),
    asking=words("si s combien quand où comment qui que quel quelle quels quelles"),
    common=words("et ou est sont pas ne qui que été était"),
    small=words(
        "le la les l un une des du de d au aux à en dans avec par pour sur chez son sa ses leur leurs votre vos ton "
        "ta tes mon ma mes notre nos ce cet cette ces se s vous tu te t me m je nous"
    ),
    barred=words(
        "ne n pas plus jamais rien aucun aucune personne ni et ou mais car donc or sauf sans excepté hormis que qu "
        "qui dont aussi seulement uniquement parce puisque alors ainsi lorsque comme tandis bien"
    ),
    labels=words(
        "caractéristiques fonctions fonctionnalités avantages bénéfices prix tarif tarifs coût coûts frais paiement "
        "paiements facturation remboursement remboursements retour retours livraison livraisons couverture "
        "exclusions exceptions limite limites délai délais date dates horaire horaires adresse contact téléphone "
        "courriel assistance support sécurité confidentialité forfait forfaits plan plans produit produits service "
        "services nom type catégorie quantité total pays ville villes capitale population durée période statut "
        "valeur devise supplémentaires documents matériel ingrédients montant taux"
    ),
    fillers=words(
        "résumé introduction conclusion détail détails description conditions exigences étapes instructions "
        "procédure exemple exemples note notes remarque remarques important importante importants importantes "
        "politique questions réponse résultat résultats option options information informations général générale "
        "générales principal principale principaux principales clés points fréquentes moyens recommandations "
        "conseils références source sources"
    ),
    steps=words("étape"),
    joins=words("et"),
    answers=words("oui non vrai faux"),
    loaded=words("gratuit gratuite inclus incluse couvert couverte autorisé autorisée"),
    greetings=leading("bonjour", "[,、 ]+"),
    asks=openings(
        """
        [et] [à|de|pour|depuis|avec|en|par] (quel|quelle|quels|quelles|combien|quand|où|comment|pourquoi|qui|quoi)
        (que|qu'est-ce que|qu'est-ce qui)
        (pouvez-vous|pourriez-vous|peux-tu) (me dire|m'expliquer) (comment|combien|quand|où|quel|quelle|quels)
        (explique|expliquez|expliquez-moi|explique-moi|décris|décrivez|résume|résumez|liste|listez|parlez-moi|parle-moi)
        """
    ),
    adds=mentions(
        """
        (et|ou|mais) (est|sont|est-ce|est-il|est-elle|ont|peut|peut-on|puis-je|dois-je|faut-il|y a-t-il|a-t-il)
        (explique|expliquez|expliquez-moi|explique-moi|m'expliquer|savoir|sais) s[i]
        """
    ),
    choices=mentions("(ou|entre|lequel|laquelle|lesquels|lesquelles|quel|quelle|quels|quelles|qui|mieux|meilleur)"),
    connectives=leading(
        """
        (de plus|cependant|mais|et|aussi|en outre)
        """,
        ",? ",
    ),
    refers=openings(
        """
        il (est|était|sera|a|avait|y a|faut|coûte|peut|doit|comprend|inclut|offre|permet|dure|contient|couvre|ne|s'agit)
        (elle|ils|elles|ce|cet|cette|ces|celui-ci|celle-ci|ceux-ci|celles-ci|cela|ça|ceci|c'est|c'était|ce sont)
        (son|sa|ses|leur|leurs|tous deux|toutes deux|tous les deux|toutes les deux|les deux|ce dernier|cette dernière)
        (le premier|la première|le second|la seconde|celui-là|celle-là)
        (oui|non|bien sûr|malheureusement)[,] \
            (c'est|ce n'est pas) [bien] (le cas|possible|cela|ça|vrai|exact|correct)<end>
        (oui|non|bien sûr|malheureusement)[,] \
            (vous|tu|on|il|elle|ils|elles) (pouvez|peux|peut|peuvent|l'est|le sont)<end>
        (non|malheureusement)[,] (vous|tu|on|il|elle|ils|elles) ne (pouvez|peux|peut|peuvent|l'est|le sont) pas<end>
        """,
        SHORT,
    ),
    verbs=mentions(
        """
        (est|sont|était|coûte|coûtent|comprend|inclut|couvre|couvrent|peut|peuvent|doit|propose|contient|y a|a été|ont)
        """
    ),
    affirms=replies(
        """
        (oui|bien sûr|bien entendu|certainement|absolument|tout à fait|exactement|effectivement|en effet|évidemment)
        oui[,] (bien sûr|tout à fait|absolument|effectivement|en effet)
        """
    ),
    denies=replies(
        """
        (non|jamais|pas du tout|absolument pas|certainement pas|bien sûr que non|en aucun cas|pas encore|faux)
        (malheureusement|hélas)[,] (non|pas|pas encore)
        (désolé|désolée|désolés)[,] [mais] non
        non[,] (désolé|désolés|malheureusement|hélas|pas encore|merci)
        """
    ),
)

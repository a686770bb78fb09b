"""Relations and answered questions of the languages other than English, for parallel.py.

Only shapes whose subject and value stand uninflected: names of people, towns, firms and products, amounts, years.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from relations import Language, Relation, faq, firm, person, relation, town, word

if TYPE_CHECKING:
    import random
    from collections.abc import Callable


def _product(rng: random.Random) -> str:
    return word(rng).capitalize() + rng.choice((f" {rng.randint(2, 900)}", " Pro", " Plus", " Mini", ""))


def _euros(*shapes: str) -> Callable[[random.Random], str]:
    def made(rng: random.Random) -> str:
        whole, cents = rng.randint(2, 900), rng.choice((0, 0, 50, 90, 99))
        return rng.choice(shapes).format(f"{whole},{cents:02}" if cents else whole)

    return made


def _number(unit: str) -> Callable[[random.Random], str]:
    return lambda rng: unit.format(rng.randint(3, 950))


def _year(rng: random.Random) -> str:
    return str(rng.randint(1890, 2026))


def _time(shape: str) -> Callable[[random.Random], str]:
    return lambda rng: shape.format(rng.randint(6, 21), rng.choice(("00", "15", "30", "45")))


def _weight(rng: random.Random) -> str:
    return f"{rng.randint(1, 90)},{rng.randint(1, 9)} kg"


def _relations(
    makers: tuple[tuple[Callable[[random.Random], str], Callable[[random.Random], str]], ...], text: str
) -> tuple[Relation, ...]:
    """Three lines each: statements, questions, heading; ``makers`` in the same order."""
    lines = [line.strip() for line in text.strip().splitlines()]
    parts = zip(makers, lines[::3], lines[1::3], lines[2::3], strict=True)
    return tuple(relation(subject, value, *rest) for (subject, value), *rest in parts)


LANGUAGES = {
    "de": Language(
        _relations(
            (
                (firm, person),
                (person, person),
                (person, person),
                (_product, _euros("{} €", "{} Euro", "{} EUR")),
                (firm, _number("{} Personen")),
                (person, _year),
                (person, town),
                (_product, _weight),
                (town, _time("{}:{} Uhr")),
                (_product, _number("{} Monate")),
                (_product, person),
            ),
            """
            {s} wurde von {v} gegründet.|{v} hat {s} gegründet.|{v} gründete {s}.|Gründer von {s} ist {v}.
            Wer hat {s} gegründet?|Von wem wurde {s} gegründet?
            Gründer
            {s} hat {v} verklagt.|{v} wurde von {s} verklagt.|{s} reichte Klage gegen {v} ein.
            Wen hat {s} verklagt?
            Beklagter
            {s} leitet das Team von {v}.|{v} arbeitet im Team von {s}.|{v} berichtet an {s}.
            Wer berichtet an {s}?
            Mitarbeiter
            {s} kostet {v}.|Der Preis von {s} beträgt {v}.|Für {s} zahlen Sie {v}.|{s} ist für {v} erhältlich.
            Was kostet {s}?|Wie teuer ist {s}?
            Preis
            {s} beschäftigt {v}.|Bei {s} arbeiten {v}.|Die Belegschaft von {s} umfasst {v}.
            Wie viele Menschen arbeiten bei {s}?
            Belegschaft
            {s} wurde {v} geboren.|Das Geburtsjahr von {s} ist {v}.|{s} kam im Jahr {v} zur Welt.
            Wann wurde {s} geboren?
            Geboren
            {s} wohnt in {v}.|{s} lebt in {v}.|Der Wohnort von {s} ist {v}.
            Wo wohnt {s}?
            Wohnort
            {s} wiegt {v}.|Das Gewicht von {s} beträgt {v}.|{s} hat ein Gewicht von {v}.
            Wie schwer ist {s}?|Wie viel wiegt {s}?
            Gewicht
            Das Museum in {s} öffnet um {v}.|In {s} öffnet das Museum um {v}.|Ab {v} ist das Museum in {s} geöffnet.
            Wann öffnet das Museum in {s}?
            Öffnung
            Die Garantie von {s} beträgt {v}.|Auf {s} geben wir {v} Garantie.|Für {s} gilt eine Garantie von {v}.
            Wie lange gilt die Garantie von {s}?
            Garantie
            {s} wurde von {v} entworfen.|{v} hat {s} entworfen.|Der Entwurf von {s} stammt von {v}.
            Wer hat {s} entworfen?
            Entwurf
            """,
        ),
        faq("""
            Kann ich mit Karte zahlen?
            Sie können mit Karte zahlen.
            Kartenzahlung ist nicht möglich.
            Ist das Gerät wasserdicht?
            Das Gerät ist wasserdicht.
            Das Gerät ist nicht wasserdicht.
            Sind Hunde erlaubt?
            Hunde sind erlaubt.
            Hunde sind nicht erlaubt.
            Ist die Lieferung kostenlos?
            Die Lieferung ist kostenlos.
            Die Lieferung kostet etwas.
            Kann ich online kündigen?
            Eine Kündigung ist online möglich.
            Online kann man nicht kündigen.
            Ist Frühstück inbegriffen?
            Das Frühstück ist im Preis enthalten.
            Das Frühstück ist nicht im Preis enthalten.
        """),
        ("Ja.", "Ja, natürlich.", "Ja, gerne."),
        ("Nein.", "Nein, leider nicht.", "Leider nicht."),
        joins=(" und ", ", und ", "; ", ", aber "),
    ),
    "es": Language(
        _relations(
            (
                (firm, person),
                (person, person),
                (person, person),
                (_product, _euros("{} €", "{} euros")),
                (firm, _number("{} personas")),
                (person, _year),
                (person, town),
                (_product, _weight),
                (town, _time("{}:{}")),
                (_product, _number("{} meses")),
                (_product, person),
            ),
            """
            {s} fue fundada por {v}.|{v} fundó {s}.|{v} creó {s}.|{s} nació de la mano de {v}.
            ¿Quién fundó {s}?
            Fundador
            {s} demandó a {v}.|{v} fue demandado por {s}.|{s} presentó una demanda contra {v}.
            ¿A quién demandó {s}?
            Demandado
            {s} dirige el equipo de {v}.|{v} trabaja a las órdenes de {s}.|{v} responde ante {s}.
            ¿Quién responde ante {s}?
            Equipo
            {s} cuesta {v}.|El precio de {s} es de {v}.|Por {s} se pagan {v}.|{s} se vende a {v}.
            ¿Cuánto cuesta {s}?|¿Qué precio tiene {s}?
            Precio
            {s} emplea a {v}.|En {s} trabajan {v}.|La plantilla de {s} es de {v}.
            ¿Cuántas personas trabajan en {s}?
            Plantilla
            {s} nació en {v}.|El año de nacimiento de {s} es {v}.|{s} vino al mundo en {v}.
            ¿Cuándo nació {s}?
            Nacimiento
            {s} vive en {v}.|{s} reside en {v}.|El domicilio de {s} está en {v}.
            ¿Dónde vive {s}?
            Domicilio
            {s} pesa {v}.|El peso de {s} es de {v}.|{s} tiene un peso de {v}.
            ¿Cuánto pesa {s}?
            Peso
            El museo de {s} abre a las {v}.|En {s}, el museo abre a las {v}.|A las {v} abre el museo de {s}.
            ¿A qué hora abre el museo de {s}?
            Apertura
            La garantía de {s} es de {v}.|{s} tiene {v} de garantía.|{s} se vende con una garantía de {v}.
            ¿Cuánto dura la garantía de {s}?
            Garantía
            {s} fue diseñado por {v}.|{v} diseñó {s}.|El diseño de {s} es de {v}.
            ¿Quién diseñó {s}?
            Diseño
            """,
        ),
        faq("""
            ¿Se puede pagar con tarjeta?
            Se puede pagar con tarjeta.
            No se puede pagar con tarjeta.
            ¿Es resistente al agua?
            Es resistente al agua.
            No es resistente al agua.
            ¿Se admiten perros?
            Los perros están permitidos.
            Los perros no están permitidos.
            ¿El envío es gratuito?
            El envío es gratis.
            El envío no es gratis.
            ¿Puedo cancelar por internet?
            Puede cancelar por internet.
            No es posible cancelar por internet.
            ¿Está incluido el desayuno?
            El desayuno está incluido.
            El desayuno no está incluido.
        """),
        ("Sí.", "Sí, claro.", "Sí, por supuesto."),
        ("No.", "No, lo sentimos.", "Lamentablemente, no."),
        joins=(" y ", ", y ", "; ", ", pero "),
    ),
    "fr": Language(
        _relations(
            (
                (firm, person),
                (person, person),
                (person, person),
                (_product, _euros("{} €", "{} euros")),
                (firm, _number("{} personnes")),
                (person, _year),
                (person, town),
                (_product, _weight),
                (town, _time("{} h {}")),
                (_product, _number("{} mois")),
                (_product, person),
            ),
            """
            {s} a été fondée par {v}.|{v} a fondé {s}.|{v} a créé {s}.|{s} doit sa création à {v}.
            Qui a fondé {s} ?
            Fondateur
            {s} a poursuivi {v} en justice.|{v} a été poursuivi en justice par {s}.|{s} a porté plainte contre {v}.
            Contre qui {s} a-t-il porté plainte ?
            Partie adverse
            {s} dirige l'équipe de {v}.|{v} travaille sous les ordres de {s}.|{v} a {s} pour supérieur.
            Qui travaille sous les ordres de {s} ?
            Équipe
            {s} coûte {v}.|Le prix de {s} est de {v}.|Pour {s}, il faut payer {v}.|{s} est vendu {v}.
            Combien coûte {s} ?|Quel est le prix de {s} ?
            Prix
            {s} emploie {v}.|Chez {s} travaillent {v}.|L'effectif de {s} est de {v}.
            Combien de personnes travaillent chez {s} ?
            Effectif
            {s} est né en {v}.|L'année de naissance de {s} est {v}.|{s} a vu le jour en {v}.
            Quand {s} est-il né ?
            Naissance
            {s} habite à {v}.|{s} vit à {v}.|Le domicile de {s} se trouve à {v}.
            Où habite {s} ?
            Domicile
            {s} pèse {v}.|Le poids de {s} est de {v}.|{s} a un poids de {v}.
            Combien pèse {s} ?
            Poids
            Le musée de {s} ouvre à {v}.|À {s}, le musée ouvre à {v}.|C'est à {v} qu'ouvre le musée de {s}.
            À quelle heure ouvre le musée de {s} ?
            Ouverture
            La garantie de {s} est de {v}.|{s} est garanti {v}.|{s} bénéficie d'une garantie de {v}.
            Combien de temps dure la garantie de {s} ?
            Garantie
            {s} a été conçu par {v}.|{v} a conçu {s}.|La conception de {s} est due à {v}.
            Qui a conçu {s} ?
            Conception
            """,
        ),
        faq("""
            Peut-on payer par carte ?
            Le paiement par carte est accepté.
            Le paiement par carte n'est pas accepté.
            L'appareil est-il étanche ?
            L'appareil est étanche.
            L'appareil n'est pas étanche.
            Les chiens sont-ils admis ?
            Les chiens sont acceptés.
            Les chiens ne sont pas acceptés.
            La livraison est-elle gratuite ?
            La livraison est gratuite.
            La livraison est payante.
            Puis-je résilier en ligne ?
            La résiliation en ligne est possible.
            Il n'est pas possible de résilier en ligne.
            Le petit-déjeuner est-il compris ?
            Le petit-déjeuner est compris dans le prix.
            Le petit-déjeuner n'est pas compris dans le prix.
        """),
        ("Oui.", "Oui, bien sûr.", "Oui, tout à fait."),
        ("Non.", "Non, désolé.", "Malheureusement non."),
        joins=(" et ", ", et ", " ; ", ", mais "),
    ),
    "it": Language(
        _relations(
            (
                (firm, person),
                (person, person),
                (_product, _euros("{} €", "{} euro")),
                (firm, _number("{} persone")),
                (person, _year),
                (person, town),
                (_product, _weight),
                (town, _time("{}:{}")),
            ),
            """
            {s} è stata fondata da {v}.|{v} ha fondato {s}.|Il fondatore di {s} è {v}.
            Chi ha fondato {s}?
            Fondatore
            {s} ha fatto causa a {v}.|{v} è stato citato in giudizio da {s}.|{s} ha citato in giudizio {v}.
            A chi ha fatto causa {s}?
            Controparte
            {s} costa {v}.|Il prezzo di {s} è di {v}.|Per {s} si pagano {v}.
            Quanto costa {s}?
            Prezzo
            {s} impiega {v}.|In {s} lavorano {v}.|Il personale di {s} conta {v}.
            Quante persone lavorano in {s}?
            Personale
            {s} è nato nel {v}.|L'anno di nascita di {s} è il {v}.|{s} venne al mondo nel {v}.
            Quando è nato {s}?
            Nascita
            {s} vive a {v}.|{s} abita a {v}.|La residenza di {s} è a {v}.
            Dove vive {s}?
            Residenza
            {s} pesa {v}.|Il peso di {s} è di {v}.|{s} ha un peso di {v}.
            Quanto pesa {s}?
            Peso
            Il museo di {s} apre alle {v}.|A {s} il museo apre alle {v}.|Alle {v} apre il museo di {s}.
            A che ora apre il museo di {s}?
            Apertura
            """,
        ),
        faq("""
            Si può pagare con la carta?
            Si può pagare con la carta.
            Non è possibile pagare con la carta.
            I cani sono ammessi?
            I cani sono ammessi.
            I cani non sono ammessi.
            La spedizione è gratuita?
            La spedizione è gratuita.
            La spedizione è a pagamento.
        """),
        ("Sì.", "Sì, certo."),
        ("No.", "No, purtroppo no.", "Purtroppo no."),
        joins=(" e ", ", e ", "; ", ", ma "),
    ),
    "nl": Language(
        _relations(
            (
                (firm, person),
                (person, person),
                (_product, _euros("€ {}", "{} euro")),
                (firm, _number("{} mensen")),
                (person, _year),
                (person, town),
                (_product, _weight),
                (town, _time("{}.{} uur")),
            ),
            """
            {s} is opgericht door {v}.|{v} heeft {s} opgericht.|De oprichter van {s} is {v}.
            Wie heeft {s} opgericht?
            Oprichter
            {s} heeft {v} aangeklaagd.|{v} is door {s} aangeklaagd.|{s} spande een zaak aan tegen {v}.
            Wie is door {s} aangeklaagd?
            Gedaagde
            {s} kost {v}.|De prijs van {s} is {v}.|Voor {s} betaalt u {v}.
            Wat kost {s}?|Hoe duur is {s}?
            Prijs
            Bij {s} werken {v}.|{s} heeft {v} in dienst.|{s} telt {v} aan personeel.
            Hoeveel mensen werken er bij {s}?
            Personeel
            {s} werd geboren in {v}.|Het geboortejaar van {s} is {v}.|{s} kwam in {v} ter wereld.
            Wanneer werd {s} geboren?
            Geboren
            {s} woont in {v}.|De woonplaats van {s} is {v}.|{s} heeft een huis in {v} en woont daar.
            Waar woont {s}?
            Woonplaats
            {s} weegt {v}.|Het gewicht van {s} is {v}.|{s} heeft een gewicht van {v}.
            Hoeveel weegt {s}?
            Gewicht
            Het museum in {s} gaat om {v} open.|In {s} opent het museum om {v}.|Vanaf {v} is het museum in {s} open.
            Hoe laat gaat het museum in {s} open?
            Opening
            """,
        ),
        faq("""
            Kan ik met een kaart betalen?
            U kunt met een kaart betalen.
            Betalen met een kaart is niet mogelijk.
            Zijn honden toegestaan?
            Honden zijn toegestaan.
            Honden zijn niet toegestaan.
            Is de verzending gratis?
            De verzending is gratis.
            De verzending is niet gratis.
        """),
        ("Ja.", "Ja, natuurlijk."),
        ("Nee.", "Nee, helaas niet.", "Helaas niet."),
        joins=(" en ", ", en ", "; ", ", maar "),
    ),
    "pt": Language(
        _relations(
            (
                (firm, person),
                (person, person),
                (_product, _euros("{} €", "{} euros", "R$ {}")),
                (firm, _number("{} pessoas")),
                (person, _year),
                (person, town),
                (_product, _weight),
                (town, _time("{}h{}")),
            ),
            """
            {s} foi fundada por {v}.|{v} fundou {s}.|O fundador de {s} é {v}.
            Quem fundou {s}?
            Fundador
            {s} processou {v}.|{v} foi processado por {s}.|{s} moveu uma ação contra {v}.
            Quem foi processado por {s}?
            Réu
            {s} custa {v}.|O preço de {s} é {v}.|Por {s} paga-se {v}.
            Quanto custa {s}?
            Preço
            {s} emprega {v}.|Na {s} trabalham {v}.|O quadro de pessoal da {s} é de {v}.
            Quantas pessoas trabalham na {s}?
            Pessoal
            {s} nasceu em {v}.|O ano de nascimento de {s} é {v}.|{s} veio ao mundo em {v}.
            Quando nasceu {s}?
            Nascimento
            {s} vive em {v}.|{s} mora em {v}.|A residência de {s} fica em {v}.
            Onde vive {s}?
            Residência
            {s} pesa {v}.|O peso de {s} é de {v}.|{s} tem um peso de {v}.
            Quanto pesa {s}?
            Peso
            O museu de {s} abre às {v}.|Em {s}, o museu abre às {v}.|Às {v} abre o museu de {s}.
            A que horas abre o museu de {s}?
            Abertura
            """,
        ),
        faq("""
            É possível pagar com cartão?
            É possível pagar com cartão.
            Não é possível pagar com cartão.
            Aceitam cães?
            Os cães são aceites.
            Os cães não são aceites.
            A entrega é gratuita?
            A entrega é gratuita.
            A entrega é paga.
        """),
        ("Sim.", "Sim, claro."),
        ("Não.", "Não, lamentamos.", "Infelizmente não."),
        joins=(" e ", ", e ", "; ", ", mas "),
    ),
    "ja": Language(
        _relations(
            (
                (firm, person),
                (person, person),
                (_product, _number("{}円")),
                (firm, _number("{}人")),
                (person, lambda rng: _year(rng) + "年"),
                (person, town),
                (_product, lambda rng: f"{rng.randint(1, 90)}.{rng.randint(1, 9)}kg"),
                (town, _time("{}時{}分")),
            ),
            """
            {s}は{v}によって設立された。|{v}が{s}を設立した。|{s}の創業者は{v}です。
            {s}を設立したのは誰ですか？
            創業者
            {s}は{v}を訴えた。|{v}は{s}に訴えられた。|{s}が{v}に対して訴訟を起こした。
            {s}は誰を訴えましたか？
            被告
            {s}の価格は{v}です。|{s}は{v}で購入できます。|{s}の値段は{v}だ。
            {s}はいくらですか？
            価格
            {s}の従業員は{v}です。|{s}では{v}が働いている。|{s}は{v}を雇用している。
            {s}の従業員は何人ですか？
            従業員数
            {s}は{v}に生まれた。|{s}の生まれは{v}です。|{v}に{s}が誕生した。
            {s}はいつ生まれましたか？
            生年
            {s}は{v}に住んでいる。|{s}の住まいは{v}にある。|{s}は{v}在住です。
            {s}はどこに住んでいますか？
            住所
            {s}の重さは{v}です。|{s}は{v}の重さがある。|{s}の重量は{v}だ。
            {s}の重さはどれくらいですか？
            重量
            {s}の博物館は{v}に開館します。|{s}では博物館が{v}に開く。|{v}に{s}の博物館が開きます。
            {s}の博物館は何時に開きますか？
            開館時間
            """,
        ),
        faq("""
            カードで支払えますか？
            カードで支払うことができます。
            カードでは支払えません。
            犬を連れて行けますか？
            犬の同伴は可能です。
            犬の同伴はできません。
            朝食は含まれていますか？
            朝食は料金に含まれています。
            朝食は料金に含まれていません。
        """),
        ("はい。", "はい、できます。"),
        ("いいえ。", "いいえ、申し訳ございません。"),
    ),
}

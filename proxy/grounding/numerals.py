"""The words of numbers: numerals, magnitudes, units, currencies and months, in the languages that answers often mix.

Tables alone. Units are reduced to one a dimension (SI where there is one; months for years, for days and months have no
fixed ratio). Words that are commonly something else are numbers only before a unit or magnitude (``UNSURE``), or left
out where those would do as well ("once", "due"). Left out too: what French and Italian build on a hundred ("deux cent
trois"; "six cents" has both readings), German and Dutch words of more than two parts ("tausendfünfhundert"), and
ideographs that no unit or counter follows.
"""

from __future__ import annotations

Key = tuple[str, float]
"""A kind ("length", "year", "raw" ...) and an amount in the unit of that kind."""

SMALL: dict[str, float] = {
    word: float(number)
    for number, words in enumerate(
        """zero
        one
        two zwei deux dos dois duas twee
        three drei trois tres três drie
        four vier quatre cuatro quatro quattro
        five fünf cinq cinco vijf cinque
        six sechs seis zes sei
        seven sieben siete sete zeven sette sept
        eight acht huit ocho oito otto
        nine neun neuf nueve nove negen
        ten zehn dix diez dez tien dieci
        eleven onze undici elf
        twelve zwölf douze doce doze twaalf dodici
        thirteen dreizehn treize trece treze dertien tredici
        fourteen vierzehn quatorze catorce catorze veertien quattordici
        fifteen fünfzehn quinze quince vijftien quindici
        sixteen sechzehn seize dieciséis dezesseis dezasseis zestien sedici
        seventeen siebzehn diecisiete dezessete dezassete zeventien diciassette
        eighteen achtzehn dieciocho dezoito achttien diciotto
        nineteen neunzehn diecinueve dezenove dezanove negentien diciannove""".splitlines()
    )
    for word in words.split()
}
TENS = {
    word: 10.0 * number
    for number, words in enumerate(
        """twenty zwanzig vingt vingts veinte vinte twintig venti
        thirty dreißig dreissig trente treinta trinta dertig trenta
        forty vierzig quarante cuarenta quarenta veertig quaranta
        fifty fünfzig cinquante cincuenta cinquenta vijftig cinquanta
        sixty sechzig soixante sesenta sessenta zestig sessanta
        seventy siebzig setenta zeventig settanta
        eighty achtzig ochenta oitenta tachtig ottanta
        ninety neunzig noventa negentig novanta""".splitlines(),
        2,
    )
    for word in words.split()
}


def _joined() -> dict[str, float]:
    """Numbers that German, Dutch, Italian and Spanish write as one word: "fünfundzwanzig", "veinticinco"."""
    found: dict[str, float] = {}
    german, dutch, italian, spanish = (
        list(enumerate(words.split(), 1))
        for words in (
            "ein zwei drei vier fünf sechs sieben acht neun",
            "een twee drie vier vijf zes zeven acht negen",
            "uno due tre quattro cinque sei sette otto nove",
            "uno dós trés cuatro cinco séis siete ocho nueve",
        )
    )
    for word, ten in TENS.items():
        found |= {f"{one}und{word}": ten + number for number, one in german if word.endswith(("zig", "ßig", "ssig"))}
        found |= {
            f"{one}{'ën' if one.endswith('e') else 'en'}{word}": ten + number
            for number, one in dutch
            if word.endswith("tig")
        }
        if word.endswith(("enti", "enta", "anta")):
            found |= {f"{word[:-1] if one[0] in 'uo' else word}{one}": ten + number for number, one in italian}
    found |= {f"veinti{one}": 20.0 + number for number, one in spanish}
    for ones, hundred, thousand in ((german, "hundert", "tausend"), (dutch, "honderd", "duizend")):
        found |= {f"{one}{hundred}": 100.0 * number for number, one in ones}
        found |= {f"{one}{thousand}": 1000.0 * number for number, one in ones}
    found |= {f"{one}mila": 1000.0 * number for number, one in italian[1:]}
    iberian = (
        "cien cem|doscientos doscientas duzentos duzentas|trescientos trescientas trezentos trezentas|"
        "cuatrocientos cuatrocientas quatrocentos quatrocentas|quinientos quinientas quinhentos quinhentas|"
        "seiscientos seiscientas seiscentos seiscentas|setecientos setecientas setecentos setecentas|"
        "ochocientos ochocientas oitocentos oitocentas|novecientos novecientas novecentos novecentas"
    )
    return found | {
        word: 100.0 * number for number, words in enumerate(iberian.split("|"), 1) for word in words.split()
    }


SMALL |= _joined() | {"cent": 100.0, "cento": 100.0}
UNSURE = frozenset("dos otto neuf onze sei sept elf dix quince seize venti mil mille cent cento".split())
"""Words that are commonly something else: numbers only before a unit or a magnitude."""
PORTUGUESE = frozenset("do da das ao aos é não em uma na nas pelo pela".split())
"""In a sentence with one of these "dos" is "of the"."""
ARTICLES = frozenset("a an un une uno una ein eine einen einem einer een uma".split())
KANJI = {figure: float(number) for number, figure in enumerate("〇一二三四五六七八九")} | {"零": 0.0, "两": 2.0}
KANJI_SCALES = {"十": 1e1, "百": 1e2, "千": 1e3, "万": 1e4, "億": 1e8}
COUNTERS = frozenset("人名個个回次件枚台歳才階週位社店校万億")
"""What shows that the ideographs before it are a number, beside units."""
INDEFINITE = frozenset("数何幾")
ORDINALS: dict[str, float] = {
    word: float(number)
    for number, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
        "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth".split(),
        1,
    )
} | {"thirtieth": 30.0, "fortieth": 40.0, "fiftieth": 50.0, "hundredth": 100.0}
ORDINAL_MARKS = frozenset("st nd rd th er ère ème º ª".split())
MAGNITUDES = {
    word: factor
    for factor, words in (
        (1e2, "hundred hundert honderd 百"),
        (1e3, "thousand thousands k K tausend mille mil duizend 千"),
        (1e4, "万 萬"),
        (1e5, "lakh"),
        (1e6, "million millions mn mln Mio M Millionen millones milhões miljoen milioni"),
        (1e7, "crore"),
        (1e8, "億 亿"),
        (1e9, "billion billions bn B Mrd Milliarde Milliarden milliard milliards miliardi miljard"),
        (1e12, "trillion trillions tn"),
    )
    for word in words.split()
}
FRACTIONS = {
    word: part
    for part, words in (
        (1 / 2, "half halves"),
        (1 / 3, "third thirds"),
        (1 / 4, "quarter quarters fourth fourths"),
        (1 / 5, "fifth fifths"),
        (1 / 8, "eighth eighths"),
        (1 / 10, "tenth tenths"),
    )
    for word in words.split()
}
FRACTION_SIGNS = {"½": 1 / 2, "⅓": 1 / 3, "⅔": 2 / 3, "¼": 1 / 4, "¾": 3 / 4, "⅛": 1 / 8}
TIMES = {"twice": 2.0, "double": 2.0, "doubled": 2.0, "both": 2.0, "pair": 2.0, "couple": 2.0, "duo": 2.0}
TIMES |= {"thrice": 3.0, "triple": 3.0, "tripled": 3.0, "trio": 3.0, "single": 1.0, "sole": 1.0, "once": 1.0}
SEEN_ASIDE = frozenset({"one", "first", "zero", *TIMES} - {"twice", "thrice"})
"""Words that carry a number for others but that are not counted as one stated."""

UNITS: dict[str, tuple[Key, ...]] = {
    word: ((kind, float(factor)),)
    for line in """
        length 1 m metre metres meter meters Meter Metern mètre mètres metro metros metri
        length 1000 km kms kilometre kilometres kilometer kilometers kilometern kilomètre kilomètres
        length 1000 kilómetro kilómetros quilómetro quilómetros quilômetro quilômetros chilometro chilometri
        length 0.01 cm centimetre centimetres centimeter centimeters centimetern zentimeter zentimetern centimètre
        length 0.01 centimètres centímetro centímetros centimetro centimetri
        length 0.001 mm millimetre millimetres millimeter millimeters millimetern millimètre millimètres milímetro
        length 0.001 milímetros millimetro millimetri
        length 1609.344 mi mile miles
        length 0.3048 ft foot feet
        length 0.0254 inch inches
        length 0.9144 yd yard yards
        mass 1 g gram grams gramme grammes gramm gramo gramos grammo grammi grama gramas
        mass 1000 kg kgs kilo kilos kilogram kilograms kilogramm kilogramme kilogrammes kilogramo kilogramos
        mass 1000 chilo chili chilogrammo chilogrammi quilo quilos quilograma quilogramas
        mass 0.001 mg milligram milligrams milligramm milligramme milligrammes miligramo miligramos milligrammo
        mass 0.001 milligrammi miligrama miligramas
        mass 0.000001 µg mcg microgram micrograms
        mass 1000000 t tonne tonnes ton tons tonnen tonelada toneladas tonnellata tonnellate
        mass 453.59237 lb lbs
        power 1 W watt watts
        power 1000 kW kilowatt kilowatts
        power 1000000 MW megawatt megawatts
        power 1000000000 GW gigawatt gigawatts
        energy 1 Wh
        energy 1000 kWh
        energy 1000000 MWh
        energy 1000000000 GWh
        duration 1 s sec secs second seconds segundos secondes Sekunden secondi
        duration 60 min mins minute minutes minutos Minuten minuten minuto minuut minuti
        duration 3600 h hr hrs hour hours heure heures hora horas Stunde Stunden uur uren ora ore
        duration 86400 day days jour jours día días dia dias Tag Tage Tagen dag dagen giorno giorni
        duration 604800 week weeks wk wks semaine semaines semana semanas Woche Wochen weken settimana settimane
        duration 1209600 fortnight fortnights
        months 1 month months mois mes meses Monat Monate Monaten maand maanden mese mesi
        months 12 year years yr yrs an ans año años ano anos Jahr Jahre Jahren jaar anno anni
        months 120 decade decades
        months 1200 century centuries
        volume 1 l L litre litres liter liters litern litro litros litri
        volume 0.001 ml mL millilitre millilitres milliliter milliliters millilitern mililitro mililitros millilitro
        volume 0.001 millilitri
        volume 3.785412 gallon gallons
        area 1 m² m2 sqm qm quadratmeter quadratmetern
        area 1000000 km² km2 quadratkilometer quadratkilometern
        area 10000 ha hectare hectares hektar hectárea hectáreas ettaro ettari
        volume 1000 m³ m3 kubikmeter kubikmetern
        area 4046.856 acre acres
        speed 1 kph kmh
        speed 1.609344 mph
        data 1 byte bytes
        data 1000 KB kB kilobyte kilobytes
        data 1000000 MB Mo megabyte megabytes
        data 1000000000 GB Go gigabyte gigabytes
        data 1000000000000 TB terabyte terabytes
        frequency 1 Hz hertz
        frequency 1000 kHz
        frequency 1000000 MHz
        frequency 1000000000 GHz
        voltage 1 V volt volts
        °C 1 celsius ℃
        °F 1 fahrenheit ℉
        degree 1 ° º degree degrees
        duration 1 秒
        duration 86400 日
        months 12 年
        % 1 % percent pct Prozent procent
        % 10 割
        EUR 1 € EUR euro euros
        JPY 1 ¥ JPY yen 円
        CNY 1 CNY RMB yuan
        INR 1 ₹ INR Rs rupee rupees
        CHF 1 CHF franc francs Franken
        KRW 1 ₩ KRW
        SEK 1 SEK
        NOK 1 NOK
        DKK 1 DKK
        BRL 1 BRL
        MXN 1 MXN
        USD 1 USD
        AUD 1 AUD
        CAD 1 CAD
        NZD 1 NZD
        HKD 1 HKD
        GBP 1 £ GBP sterling
        GBP 0.01 pence
        EUR 0.01 eurocent eurocents céntimo céntimos centime centimes centesimo centesimi cêntimo cêntimos
    """.strip().splitlines()
    for kind, factor, *words in [line.split()]
    for word in words
}
_DOLLARS: tuple[Key, ...] = (("USD", 1.0), ("AUD", 1.0), ("CAD", 1.0))
UNITS |= dict.fromkeys(("$", "dollar", "dollars"), _DOLLARS)
UNITS |= dict.fromkeys(("pound", "pounds"), (("GBP", 1.0), ("mass", 453.59237)))
UNITS |= dict.fromkeys(("cent", "cents", "ct", "\u00a2"), tuple((kind, 0.01) for kind in ("EUR", "USD", "AUD", "CAD")))
UNITS |= dict.fromkeys(("centavo", "centavos"), tuple((kind, 0.01) for kind in ("BRL", "MXN", "USD")))
MONEY = frozenset("EUR JPY CNY INR CHF KRW SEK NOK DKK BRL MXN USD AUD CAD NZD HKD GBP".split())
BEFORE = {word: units for word, units in UNITS.items() if units[0][0] in MONEY and not word.islower()}
DOLLAR_OF = {"us": "USD", "u.s.": "USD", "a": "AUD", "au": "AUD", "c": "CAD", "ca": "CAD", "nz": "NZD", "hk": "HKD"}
_SQUARED = "square sq vierkante carré carrés cuadrado cuadrados quadrato quadrati quadrado quadrados".split()
_CUBED = "cubic kubieke cube cubes cúbico cúbicos cubo cubi".split()


def _powers() -> dict[tuple[str, str], tuple[Key, ...]]:
    """Units of area (m²) and volume (l) made of one of length and a word beside it, in either order."""
    lengths = {word.lower(): units[0][1] for word, units in UNITS.items() if units[0][0] == "length"}
    return {
        pair: (power,)
        for word, length in lengths.items()
        for marks, power in ((_SQUARED, ("area", length**2)), (_CUBED, ("volume", 1000 * length**3)))
        for mark in marks
        for pair in ((mark, word), (word, mark))
    }


PHRASES: dict[tuple[str, str], tuple[Key, ...]] = {
    ("per", "cent"): (("%", 1.0),),
    ("pour", "cent"): (("%", 1.0),),
    ("por", "ciento"): (("%", 1.0),),
    ("por", "cento"): (("%", 1.0),),
    ("per", "cento"): (("%", 1.0),),
    ("percentage", "point"): (("%", 1.0),),
    ("percentage", "points"): (("%", 1.0),),
    ("°", "c"): (("°C", 1.0),),
    ("º", "c"): (("°C", 1.0),),
    ("degrees", "celsius"): (("°C", 1.0),),
    ("°", "f"): (("°F", 1.0),),
    ("degrees", "fahrenheit"): (("°F", 1.0),),
    ("km", "/"): (("speed", 1.0),),
    ("kilometres", "per"): (("speed", 1.0),),
    ("kilometers", "per"): (("speed", 1.0),),
    ("miles", "per"): (("speed", 1.609344),),
    ("m", "/"): (("speed", 3.6),),
    ("分", "間"): (("duration", 60.0),),
    ("時", "間"): (("duration", 3600.0),),
    ("日", "間"): (("duration", 86400.0),),
    ("週", "間"): (("duration", 604800.0),),
    ("年", "間"): (("months", 12.0),),
    **dict.fromkeys(((mark, "月") for mark in "ヶヵか"), (("months", 1.0),)),
} | _powers()
KANA_UNITS: dict[str, tuple[Key, ...]] = {
    word: ((kind, float(factor)),)
    for line in """
        length 1 メートル
        length 1000 キロメートル
        length 0.01 センチ センチメートル
        length 0.001 ミリ ミリメートル
        mass 1 グラム
        mass 1000 キログラム
        mass 0.001 ミリグラム
        mass 1000000 トン
        volume 1 リットル
        volume 0.001 ミリリットル
        volume 1000 立方メートル
        area 1 平方メートル 平米
        area 1000000 平方キロメートル
        area 10000 ヘクタール
        data 1000000 メガバイト
        data 1000000000 ギガバイト
        % 1 パーセント
        EUR 1 ユーロ
        EUR 0.01 ユーロセント
    """.strip().splitlines()
    for kind, factor, *words in [line.split()]
    for word in words
} | {"キロ": (("length", 1000.0), ("mass", 1000.0)), "ドル": _DOLLARS}
"""Units of several signs, each of which is a token."""
LONGEST_KANA_UNIT = max(map(len, KANA_UNITS))
BETWEEN_NUMBER_AND_UNIT = frozenset(
    "us u.s. american business working calendar consecutive full whole additional more further other long short "
    "australian canadian".split()
)
AFTER_ONE = frozenset(word for word, units in UNITS.items() if units[0][0] in {"duration", "months"} and len(word) > 2)  # noqa: PLR2004 - "an", "h"

PERIODS: dict[str, Key] = {
    word: UNITS[period][0]
    for period, words in {
        "hour": "hourly stündlich horaire orario uurlijks",
        "day": "daily täglich tägliche täglichen quotidien quotidienne diario diaria diariamente diário diária "
        "giornaliero giornaliera dagelijks dagelijkse",
        "week": "weekly wöchentlich wöchentliche hebdomadaire semanal semanalmente settimanale wekelijks wekelijkse",
        "month": "monthly monatlich monatliche monatlichen mensuel mensuelle mensual mensualmente mensal mensalmente "
        "mensile maandelijks maandelijkse",
        "year": "yearly annual annually jährlich jährliche jährlichen annuel annuelle anual anualmente annuale "
        "annualmente jaarlijks jaarlijkse",
    }.items()
    for word in words.split()
}
"""Words that say how often, and the period after which it is again."""

MONTHS = {
    word: number
    for number, words in enumerate(
        """january jan janvier enero januar janeiro januari gennaio
        february feb février febrero februar fevereiro februari febbraio
        march mar mars marzo märz março maart
        april apr avril abril aprile
        may mai mayo maio mei maggio
        june jun juin junio juni junho giugno
        july jul juillet julio juli julho luglio
        august aug août agosto augustus
        september sep sept septembre septiembre setembro settembre
        october oct octobre octubre oktober outubro okt ottobre
        november nov novembre noviembre novembro
        december dec décembre diciembre dezember dezembro dez dicembre""".splitlines(),
        1,
    )
    for word in words.split()
}
LONE_MONTHS = frozenset("january february march april may june july august september october november december".split())
BEFORE_MONTH = frozenset(
    "in since until till by during of from to and early late mid through last next this every before after "
    "en im".split()
)
OF = frozenset("of de del di do , .".split())
BOUNDS = {
    word: bound
    for bound, words in (
        ("~", "about around roughly approximately approx nearly almost some circa ca ~ ≈ estimated within close near"),
        (">", "over above exceeding exceeded exceeds beyond surpassed surpassing passed"),
        ("<", "under below"),
    )
    for word in words.split()
}
THAN = {
    word: bound
    for bound, words in (
        (">", "more greater higher larger longer older bigger"),
        ("<", "less fewer lower smaller shorter"),
    )
    for word in words.split()
}
RANGE_MARKS = frozenset("- \u2013 \u2014 to bis à até ~ \u301c \uff5e through".split())
OPENERS = frozenset(
    {*SMALL, *TENS, *ORDINALS, *TIMES, *FRACTION_SIGNS, *MONTHS, *ARTICLES, *UNSURE, *KANJI, "十", "百", "千"}
    | {"half", "hundred", "hundert", "honderd", "tausend", "duizend", "dozen", "noon", "midnight", "decade"}
    | {"fortnight", "century", "per", "each", "every", "hundreds", "quarter"}
    | {
        "halb",
        "halbe",
        "halben",
        "halbes",
        "halve",
        "media",
        "medio",
        "demi",
        "meia",
        "mezza",
        "viertel",
        "kwart",
        "午",
    }
    | {"anderthalb", "eineinhalb", "zweieinhalb", "dreieinhalb", "anderhalf"}
)

HALVES = frozenset("half halbe halben halber halbes halve media medio demi demie mezza mezzo meia meio".split())
"""Before a unit of time half of it; after a number and its unit, with one of ``ANDS``, half of it more."""
ANDS = frozenset("and und et y e en".split())
HALF_MORE = {"anderthalb": 1.5, "eineinhalb": 1.5, "zweieinhalb": 2.5, "dreieinhalb": 3.5, "anderhalf": 1.5}
AFTER_HOUR = {
    **dict.fromkeys(("y media", "e media", "e mezza", "e mezzo", "e meia", "et demie", "et demi"), 30.0),
    **dict.fromkeys(("y cuarto", "e un quarto", "e um quarto", "et quart"), 15.0),
    **dict.fromkeys(("menos cuarto", "meno un quarto", "moins le quart"), -15.0),
}
"""What may follow the hour of a clock, and the minutes that it adds."""
LONE_HOURS = {"una": 1.0, "uma": 1.0, "une": 1.0, "once": 11.0}
"""Hours whose words are commonly something else."""
QUARTERS = frozenset("quarter viertel kwart".split())
PAST = {
    **dict.fromkeys("past after nach over".split(), 1.0),
    **dict.fromkeys("to before vor voor".split(), -1.0),
}
"""Between the minutes and the hour: whether they are counted on or back."""
HALF_TO = {
    **{
        word: float(at)
        for at, word in enumerate("eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf".split(), 1)
    },
    **{
        word: float(at)
        for at, word in enumerate("een twee drie vier vijf zes zeven acht negen tien elf twaalf".split(), 1)
    },
}
"""Hours of which German and Dutch count the half before: "halb sieben", "half zeven" are 6:30."""
BEFORE_CLOCK = frozenset("at um om à às las alle la a ab by until till since from".split())
"""What stands before a time of day rather than a length of time."""
HOURS = frozenset("h hr hrs hour hours heure heures hora horas ora ore stunde stunden uur uren".split())

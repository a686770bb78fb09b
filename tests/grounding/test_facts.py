"""Exact checks: values compare as they mean, wrong bindings are seen, and what says the same raises no sign."""

from __future__ import annotations

import gc
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.grounding.facts import WEIGHED, ReadText, Signs, compare, facts_of
from proxy.grounding.wording import worded_as

CAPITALS = "London is the capital of UK. Tokyo is the capital of Japan."
PLANS = "The Basic plan costs $10 a month. The Pro plan costs $20 a month."
PRICES = "| Plan | Price |\n|---|---|\n| Basic | $10 |\n| Pro | $20 |\n"
YEARLY = "| | 2018 | 2019 |\n|---|---|---|\n| Sales | 5 | 7 |\n| Costs | 3 | 4 |\n"
FEES = "fees are $5 for checking, $7 for savings and $9 for brokerage"
BORN = "Alice was born in 1950 and Bob in 1960."
KRAMER = "Alice Kramer joined in 2010. She became CEO in 2015."
ROLES = "Anna manages Bob, and Bob manages Carla."
RESPECTIVELY = "Basic and Pro cost $10 and $20 respectively."
SALES = "In 2018 sales were 5 million. In 2019 sales were 7 million."
LIST = "Fees\n- The fee in London is $10.\n- The fee in Tokyo is $20."
HEADINGS = "## Basic plan\n\nIt costs $10.\n\n## Pro plan\n\nIt costs $20.\n"

unhurried = settings(deadline=None)  # the cores are shared: one slow example is no failure


def signs(claim, evidence):
    """The signs of a claim beside its evidence."""
    return compare(facts_of(claim), facts_of(evidence))


def absent(claim, evidence):
    """How many values of the claim the evidence does not carry, of how many."""
    found = signs(claim, evidence)
    return found.numbers_absent, found.numbers


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("It has 1.5k users.", "It has 1,500 users."),
        ("It has 1500 users.", "It has fifteen hundred users."),
        ("It has one thousand five hundred users.", "It has 1,500 users."),
        ("It has 1,500 users.", "Es hat 1.500 Nutzer."),
        ("It has 2.3 million users.", "It has 2,300,000 users."),
        ("It has 2.3M users.", "It has 2.3 million users."),
        ("It earned $2.3m.", "It earned $2.3 million."),
        ("It earned $2.3m.", "It earned 2,300,000 dollars."),
        ("There are 2.3m cars.", "There are 2,300,000 cars."),
        ("It is 2.3m long.", "It is 2.3 metres long."),
        ("There are ten rooms.", "There are 10 rooms."),
        ("There are 25 rooms.", "There are twenty-five rooms."),
        ("There are 205 rooms.", "There are two hundred and five rooms."),
        ("There are 2,300,000 rooms.", "There are two million three hundred thousand rooms."),
        ("It came third.", "It came 3rd."),
        ("It came 21st.", "It came twenty-first."),
        ("It is the 3rd floor.", "It is floor 3."),
        ("Half of them left.", "50% of them left."),
        ("1/2 of them left.", "Half of them left."),
        ("Two thirds of them left.", "66.7% of them left."),
        ("A quarter of them left.", "25 percent of them left."),
        ("A dozen came.", "12 came."),
        ("Two dozen came.", "24 came."),
        ("He won twice.", "He won 2 times."),
        ("It rose to half a million.", "It rose to 500,000."),
        ("Es sind sieben Tage.", "Es sind 7 Tage."),
        ("Hay siete días.", "Hay 7 días."),
        ("Il y a huit jours.", "Il y a 8 jours."),
        ("It opened on March 3rd.", "It opened on 3 March."),
        ("It opened on Mar 3.", "It opened on 3 March."),
        ("Es begann am 03.03. in Bonn.", "It began on March 3 in Bonn."),
        ("It opened on 3 March 2021.", "It opened on March 3, 2021."),
        ("It opened on 2021-03-03.", "It opened on March 3rd, 2021."),
        ("It opened on 3/3/2021.", "It opened on 3 March 2021."),
        ("It opened on 3/4/2021.", "It opened on 4 March 2021."),
        ("It opened on 3/4/2021.", "It opened on 3 April 2021."),
        ("It opened on the third of March 2021.", "It opened on 3 March 2021."),
        ("It opened in 2021.", "It opened on 3 March 2021."),
        ("It opened in March 2021.", "It opened on 3 March 2021."),
        ("It opened on 3 March.", "It opened on 3 March 2021."),
        ("It opened on 3 March 2021.", "The year 2021 was good: on 3 March it opened."),
        ("It opened on 3 March 2021.", "It opened on 3 March."),
        ("Es war am 3. März 2021.", "It was on 3 March 2021."),
        ("El 3 de marzo de 2021.", "On 3 March 2021."),
        ("2021年3月5日に開いた。", "It opened on 5 March 2021."),
        ("The 1990s were good.", "1994 was good."),
        ("The 19th century was good.", "1850 was good."),
        ("It ran until 1995.", "It ran 1994–95."),
        ("The 2020 season is over.", "The 2019/20 season is over."),
        ("It opens at 5pm.", "It opens at 17:00."),
        ("It opens at 5 p.m. daily.", "It opens at 5:00 pm."),
        ("It opens at noon.", "It opens at 12:00."),
        ("It rose 5 percent.", "It rose 5%."),
        ("It rose 5 per cent.", "It rose 5 %."),
        ("Es stieg um 3,5 %.", "It rose 3.5%."),
        ("It costs 5 dollars.", "It costs $5."),
        ("It costs USD 5.", "It costs $5."),
        ("It costs US$5.", "It costs 5 dollars."),
        ("It costs 5 EUR.", "It costs €5."),
        ("It costs 5 euros.", "It costs EUR5."),
        ("It costs £5.", "It costs 5 pounds."),
        ("Es kostet 1.234,56 Euro.", "It costs €1,234.56."),
        ("It is 87 m high.", "It is 87 metres high."),
        ("It is 87 meters high.", "It is 87 m high."),
        ("It is 1 km long.", "It is 1000 m long."),
        ("It weighs 5 kilograms.", "It weighs 5 kg."),
        ("It makes 5 megawatts.", "It makes 5 MW."),
        ("Take 500 milligrams.", "Take 500 mg."),
        ("It is 20 degrees Celsius.", "It is 20 °C."),
        ("It takes two weeks.", "It takes 14 days."),
        ("It takes 7 days.", "It takes a week."),
        ("It takes 90 minutes.", "It takes 1.5 hours."),
        ("It takes one and a half hours.", "It takes 90 minutes."),
        ("It takes 24 hours.", "It takes one day."),
        ("It takes 12 months.", "It takes 1 year."),
        ("He is 35 years old.", "The 35-year-old won."),
        ("It holds 1万5000 people.", "It holds 15,000 people."),
        ("It takes 5 days.", "It takes 5–10 days."),
        ("It takes between 5 and 10 days.", "It takes 5-10 days."),
        ("It costs $5.", "It costs from 5 to 10 dollars."),
        ("It takes about 7 days.", "It takes 5–10 days."),
        ("It has about 1,500 users.", "It has 1,523 users."),
        ("It has nearly 1,500 users.", "It has 1,478 users."),
        ("It has more than 1,500 users.", "It has 1,523 users."),
        ("It has over 1,500 users.", "It has 1,900 users."),
        ("It has fewer than 1,500 users.", "It has 1,478 users."),
        ("It opened after 1984.", "It opened in 1985."),
        ("It has 7.5 million users.", "It has 7,512,345 users."),
        ("It costs $5.", "| Item | Price ($) |\n|---|---|\n| Tea | 5 |"),
        ("It weighs 5.", "It weighs 5 kg."),
        ("The fee is 1.2.3.", "Version 1.2.3 is out."),
        ("O preço dos planos é 10 euros.", "O plano custa 10 euros."),
        ("Cuesta dos euros.", "It costs 2 euros."),
        ("Cuesta dos mil euros.", "It costs 2,000 euros."),
        ("Il y a neuf euros.", "It costs 9 euros."),
        ("It has about 1500 users.", "It has 1,523 users."),
        ("It has about 1500 users.", "It has 1523 users."),
        ("It has about 1,500 users.", "| Users | 1500 |"),
        ("It has over 1500 users.", "It has 1,600 users."),
        ("It has over 1500 users.", "It has 1600 users."),
        ("It has at least 2000 users.", "It has 2,500 users."),
        ("It opened about 1990.", "It opened in 1991."),
        ("Le prix est de 1 500 €.", "The price is 1,500 euros."),
        ("The price is €1500.", "Le prix est de 1 500 €."),
        ("The price is EUR 1 500,50.", "The price is 1500.50 euros."),
        ("Il y a 2 300 000 euros.", "It is 2.3 million euros."),
        ("In 2019 300 people came.", "300 people came in 2019."),
        ("It is -5 °C.", "It is \u22125 °C."),
        ("It is -5 °C.", "| Temperature (°C) |\n|---|\n| -5 |"),
        ("It fell 5%.", "Growth was -5%."),
        ("- 5 items came.", "5 items came."),
        ("It takes 5-10 days.", "It takes 5 to 10 days."),
        ("Hay veinte habitaciones.", "There are 20 rooms."),
        ("Hay treinta y cinco habitaciones.", "There are 35 rooms."),
        ("Son mil quinientos euros.", "It costs 1500 euros."),
        ("São duzentos e cinquenta euros.", "It costs 250 euros."),
        ("Es sind fünfundzwanzig Zimmer.", "There are 25 rooms."),
        ("Es sind dreitausend Euro.", "It costs 3,000 euros."),
        ("Er zijn drieëndertig kamers.", "There are 33 rooms."),
        ("Er zijn vijftien kamers.", "There are 15 rooms."),
        ("Ci sono trentacinque camere.", "There are 35 rooms."),
        ("Il y a dix-sept chambres.", "There are 17 rooms."),
        ("Il y a quatre-vingt-dix-sept chambres.", "There are 97 rooms."),
        ("Il y a soixante et onze chambres.", "There are 71 rooms."),
        ("Ça coûte cinq cents euros.", "It costs 500 euros."),
        ("It costs five cents.", "It costs 5 cents."),
        ("千五百円です。", "1,500円です。"),
        ("三万五千人が来た。", "35,000 people came."),
        ("三日かかる。", "It takes 3 days."),
        ("5時間かかる。", "It takes 5 hours."),
        ("三月五日に開いた。", "It opened on 5 March."),
        ("3日に開いた。", "2021年3月3日に開いた。"),
        ("一九九〇年に開いた。", "It opened in 1990."),
        ("Es kostet 50 Cent.", "Es kostet 0,50 €."),
        ("It costs €0.50.", "It costs fifty cents."),
        ("It costs 50 cents.", "It costs $0.50."),
        ("It costs 50 pence.", "It costs £0.50."),
        ("Cuesta 50 céntimos.", "Cuesta 0,50 €."),
        ("Costa 50 centesimi.", "Costa 0,50 €."),
        ("Es sind 1200 m².", "There are 1,200 square metres."),
        ("Es sind 1.200 Quadratmeter.", "Son 1200 metros cuadrados."),
        ("La surface est de 1 200 mètres carrés.", "It is 1200 m2."),
        ("Het is 1200 vierkante meter.", "Sono 1.200 metri quadrati."),
        ("1200平方メートルです。", "It is 1,200 square metres."),
        ("It holds 2 m³.", "It holds 2000 litres."),
        ("Die Frist beträgt 28 Tage.", "Die Frist beträgt vier Wochen."),
        ("El plazo es de 28 días.", "El plazo es de cuatro semanas."),
        ("期限は28日間です。", "期限は4週間です。"),
        ("It opened in 03/2011.", "It opened in March 2011."),
        ("Es wurde im März 2011 eröffnet.", "Eröffnung: 03.2011"),
        ("Abre a las seis y media.", "Abre a las 6:30."),
        ("Abre a las seis y media.", "Abre a las 18:30."),
        ("Abre a las siete menos cuarto.", "It opens at a quarter to seven."),
        ("Abre a las once y media.", "Abre a las 11:30."),
        ("Es öffnet um halb sieben.", "It opens at half past six."),
        ("Het opent om half zeven.", "It opens at 18:30."),
        ("Es öffnet um Viertel nach sechs.", "Es öffnet um 6:15 Uhr."),
        ("Il ouvre à six heures et demie.", "Il ouvre à 6h30."),
        ("Il ouvre à 18 h 30.", "It opens at 6:30 pm."),
        ("Apre alle sei e mezza.", "Apre alle 6:30."),
        ("Abre às seis e meia.", "Abre às 6:30."),
        ("6時半に開きます。", "It opens at 6:30."),
        ("午後6時30分に開きます。", "It opens at 18:30."),
        ("It lasts 1 h 30.", "It lasts 90 minutes."),
        ("It lasts 90 minutes.", "It lasts 1h30."),
        ("It lasts 1 hour and 30 minutes.", "It lasts 1.5 hours."),
        ("It lasts 2h 30m.", "It lasts 150 minutes."),
        ("Dura dos horas y media.", "Dura 150 minutos."),
        ("Dura una hora y 20 minutos.", "Dura 80 minutos."),
        ("Es dauert anderthalb Stunden.", "Es dauert 90 Minuten."),
        ("Es dauert eine halbe Stunde.", "It takes half an hour."),
        ("Cela dure une demi-heure.", "Cela dure 30 minutes."),
        ("1時間30分かかる。", "90分かかる。"),
        ("It takes 2 years and 6 months.", "It takes 30 months."),
        ("Pesa 2,5 kilogramos.", "Pesa 2500 gramos."),
        ("Es wiegt 2,5 Kilogramm.", "It weighs 2500 g."),
        ("Sono 2 chilometri.", "Sono 2000 metri."),
        ("長さは2キロメートルです。", "長さは2000メートルです。"),
        ("It has 2 GB.", "It has 2000 MB."),
    ],
)
def test_the_same_value_is_carried_however_it_is_written(claim, evidence):
    """Figures and words, orders of a date, units and their multiples, currencies, roundings."""
    missing, stated = absent(claim, evidence)
    assert (missing, stated > 0) == (0, True)


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("It has 1,600 users.", "It has 1,500 users."),
        ("It has 2.3 billion users.", "It has 2.3 million users."),
        ("There are eleven rooms.", "There are 10 rooms."),
        ("It came fourth.", "It came 3rd."),
        ("A third of them left.", "50% of them left."),
        ("It opened on 4 March.", "It opened on 3 March."),
        ("It opened on 3 April 2021.", "It opened on 3 March 2021."),
        ("It opened on 3 March 2022.", "It opened on 3 March 2021."),
        ("It opened on 3 March 2021.", "It opened in March 2021."),
        ("It opened in 2020.", "It opened on 3 March 2021."),
        ("The 1980s were good.", "1994 was good."),
        ("It opens at 6pm.", "It opens at 17:00."),
        ("It opens at 5 am.", "It opens at 5 pm."),
        ("It rose 5%.", "It rose $5."),
        ("It weighs 5 kg.", "It is 5 km long."),
        ("It weighs 5 kg.", "It costs $5."),
        ("It costs €5.", "It costs £5."),
        ("It costs US$5.", "It costs A$5."),
        ("It takes two weeks.", "It takes 2 days."),
        ("It takes 3 hours.", "It takes 90 minutes."),
        ("It takes 7 days.", "It takes 5–10 days."),
        ("It has about 1,500 users.", "It has 1,900 users."),
        ("It has over 1,500 users.", "It has 1,400 users."),
        ("It has fewer than 1,500 users.", "It has 1,523 users."),
        ("It opened before 1984.", "It opened in 1985."),
        ("It has 7.6 million users.", "It has 7,512,345 users."),
        ("It has 7.5 users.", "It has 7.512 users."),
        ("It is -5 °C.", "It is 5 °C."),
        ("It is 5 °C.", "It is \u22125 °C."),
        ("Growth was -5%.", "Growth was 5%."),
        ("It opened about 1990.", "It opened in 1950."),
        ("It opened after 1984.", "It has 2,000 users."),
        ("It has over 1500 users.", "It has 1,400 users."),
        ("In 2019 300 people came.", "In 2019 2,019,300 people came."),
        ("Il y a neuf euros.", "It costs 8 euros."),
        ("Hay veinte habitaciones.", "There are 30 rooms."),
        ("三日かかる。", "It takes 4 days."),
        ("Es kostet 50 Cent.", "Es kostet 0,60 €."),
        ("Es kostet 50 Cent.", "Es kostet 50 €."),
        ("It costs 50 pence.", "It costs €0.50."),
        ("Es sind 1200 m².", "Es sind 1200 m."),
        ("It opened in 03/2011.", "It opened in April 2011."),
        ("It opened in 03/2011.", "It opened in March 2012."),
        ("Es öffnet um halb sieben.", "Es öffnet um 7:30 Uhr."),
        ("Abre a las siete y media.", "Abre a las 6:30."),
        ("It lasts 1 hour and 30 minutes.", "It lasts 1 hour."),
        ("It lasts 1 hour.", "It lasts 1 hour and 30 minutes."),
        ("It lasts 1 h 30.", "It lasts 80 minutes."),
        ("午後6時に開きます。", "6:00 am"),
    ],
)
def test_another_value_is_absent(claim, evidence):
    """Another number, day, unit or currency; a number that is only near when the claim does not say so."""
    assert absent(claim, evidence)[0] == 1


@pytest.mark.parametrize(
    ("claim", "count"),
    [
        ("1. The fee is due.", 0),
        ("2) The fee is due.", 0),
        ("> 3) The fee is due.", 0),
        ("It rose from a quarter to 5 %.", 1),
        ("In 2 hours 30 people came.", 2),
        ("時間は十分です。", 0),
        ("Le dos de la chaise est neuf, cent fois.", 0),
        ("- The fee is due [1].", 0),
        ("The fee is due [1, 2].", 0),
        ("One of them is due.", 0),
        ("He was the first to go.", 0),
        ("GPT-4 and the A320 are due.", 0),
        ("10. März war es.", 1),
        ("The fee is $5.", 1),
        ("On 3 March 2021 it fell 5% to $20.", 3),
        ("In May it may rain.", 1),
        ("You may march on.", 0),
        ("João dos Santos e Otto Hahn têm um vélo neuf.", 0),
        ("Ao longo dos anos onze school groeide.", 0),
        ("一般の人は四日市で数千円を払う。", 0),
        ("Entre veinte y treinta días.", 2),
    ],
)
def test_what_counts_as_a_value(claim, count):
    """List marks, citations, names with figures and idle number words state no value; a date is one."""
    assert absent(claim, claim) == (0, count)


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("The firm was founded by Penélope Cruz.", "Penelope Cruz founded the firm."),
        ("The firm belongs to Cruz.", "Penélope Cruz owns the firm."),
        ("The firm belongs to Penélope Cruz.", "Cruz owns the firm."),
        ("The firm is Cruz's.", "Cruz owns the firm."),
        ("The firm is in france.", "The firm is in France."),
        ("The firm is French.", "The firm is in France."),
        ("It lies in Cyprus.", "It is a Cypriot firm."),
        ("It belongs to the WHO.", "It belongs to the World Health Organization."),
        ("It belongs to the World Health Organization.", "It belongs to the WHO."),
        ("It lies in the US.", "It lies in the United States and Canada."),
        ("It lies in America.", "It lies in the U.S. today."),
        ("It runs on GPT-4.", "It uses GPT-4."),
        ("It fights COVID-19.", "It fights Covid-19."),
        ("We met the Smiths.", "We met Ann Smith."),
        ("The maker is Coca-Cola.", "Coca-Cola makes it."),
    ],
)
def test_a_name_is_carried_in_any_form(claim, evidence):
    """Without accents or case, by surname, possessive, plural, as a people or by its initials."""
    found = signs(claim, evidence)
    assert found.names_absent == 0


@pytest.mark.parametrize(
    ("claim", "evidence", "count"),
    [
        ("The firm belongs to Anna Berg.", "Bob Costa owns the firm.", 1),
        ("The firm belongs to Anna Berg.", "Anna Costa owns the firm.", 1),
        ("It lies in Spain.", "It lies in France.", 1),
        ("It belongs to NATO.", "It belongs to the World Health Organization.", 1),
        ("It runs on GPT-4.", "It uses GPT-3.", 1),
        ("It flies the A320 to Oslo.", "It flies the B737 to Rome.", 2),
        ("Paris is the capital.", "London is the capital of the UK.", 1),
        ("Filming began late.", "It was shot in 2010.", 0),
        ("However, sales rose.", "Revenue grew.", 0),
        ("東京は首都です。", "大阪は都市です。", 0),
        ("Die Gebühr ist im Vertrag nicht als Betrag genannt.", "Die Kosten sind in der Rechnung und im Angebot.", 0),
        ("Die Firma und das Werk von Anna Berg sind nicht alt.", "Die Firma ist das Werk von Bob Costa.", 1),
    ],
)
def test_a_name_that_is_nowhere_is_absent(claim, evidence, count):
    """Other names, acronyms and models; neither sentence openings, nor German nouns, nor scripts without capitals."""
    assert signs(claim, evidence).names_absent == count


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("The capital of Japan is London.", CAPITALS),
        ("London is the capital of Japan.", CAPITALS),
        ("london is the capital of japan", CAPITALS),
        ("The capital of the UK is Tokyo.", CAPITALS),
        ("Japan's capital is London.", CAPITALS),
        ("London is the capital of Japan.", "Tokyo is the capital of Japan and London is the capital of the UK."),
        ("The Basic plan costs $20.", PLANS),
        ("The Pro plan costs $10 a month.", PLANS),
        ("The Basic plan costs $20 and the Pro plan costs $10.", PLANS),
        (
            "The Basic plan costs $20 and the Pro plan costs $10.",
            "The Basic plan costs $10 and the Pro plan costs $20.",
        ),
        ("The Pro plan costs $10.", PRICES),
        ("Basic: $20", PRICES),
        ("Sales in 2019 were 5.", YEARLY),
        ("Costs in 2018 were 5.", YEARLY),
        ("The fee for savings is $9.", FEES),
        ("The fee for checking is $7.", FEES),
        ("Bob was born in 1950.", BORN),
        ("bob was born in 1950.", BORN),
        ("Alice Kramer became CEO in 2010.", KRAMER),
        ("Bob manages Anna.", ROLES),
        ("Bob Costa hired Anna Berg.", "Anna Berg hired Bob Costa in 2010."),
        ("The man bit the dog.", "The dog bit the man."),
        ("Pro costs $10.", RESPECTIVELY),
        ("Basic and Pro cost $20 and $10 respectively.", RESPECTIVELY),
        ("In 2019 sales were 5 million.", SALES),
        ("The fee in London is $20.", LIST),
        ("anna's fee is $7", "anna's fee is $5. bob's fee is $7."),
        ("The Basic plan costs $20.", HEADINGS),
        ("Der Pro-Tarif kostet 5 Euro.", "Der Basic-Tarif kostet 5 Euro, der Pro-Tarif 9 Euro."),
        ("El plan Pro cuesta 5 euros.", "El plan Basic cuesta 5 euros y el plan Pro 9 euros."),
        ("El plan Pro cuesta 5 euros.", "El plan Basic cuesta 5 euros, el plan Pro 9 euros."),
        ("Le forfait Pro coûte 5 euros.", "Le forfait Basic coûte 5 euros et le forfait Pro 9 euros."),
        ("Il piano Pro costa 5 euro.", "Il piano Basic costa 5 euro e il piano Pro 9 euro."),
        ("O plano Pro custa 5 euros.", "O plano Basic custa 5 euros e o plano Pro 9 euros."),
        ("Het Pro-abonnement kost 5 euro.", "Het Basic-abonnement kost 5 euro, het Pro-abonnement 9 euro."),
        ("The Pro plan costs 5 euros.", "The Basic plan costs 5 euros, the Pro plan 9 euros."),
        ("Jonas Weber founded the firm.", "Marta Ruiz founded the firm. Jonas Weber leads sales."),
        ("Jonas founded the firm.", "Marta founded the firm. Jonas leads sales."),
        ("Jonas hat die Firma gegründet.", "Marta hat die Firma gegründet. Jonas leitet den Vertrieb."),
        ("Jonas fundó la empresa.", "Marta fundó la empresa en 2010. Jonas dirige las ventas."),
        ("Jonas Weber founded the firm.", "Marta Ruiz founded the firm and Jonas Weber leads sales."),
        ("Jonas Weber founded the firm.", "Marta Ruiz founded the firm, while Jonas Weber leads sales."),
        ("Jonas Weber gründete die Firma.", "Marta Ruiz gründete die Firma, Jonas Weber leitet den Vertrieb."),
        ("Jonas Weber fundó la empresa.", "Marta Ruiz fundó la empresa y Jonas Weber dirige las ventas."),
        ("Jonas Weber a fondé l'entreprise.", "Marta Ruiz a fondé l'entreprise et Jonas Weber dirige les ventes."),
        ("The CEO is Jonas Weber.", "The CEO is Marta Ruiz. The CFO is Jonas Weber."),
        ("Jonas Weber is the CEO.", "Marta Ruiz is the CEO. Jonas Weber leads sales."),
    ],
)
def test_a_value_of_another_subject_is_swapped(claim, evidence):
    """Sentences, lists, tables by row and by column, ellipses, pronouns, roles: there, but not for this."""
    found = signs(claim, evidence)
    assert found.swapped > 0
    assert found.numbers_absent == 0


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("Tokyo is the capital of Japan.", CAPITALS),
        ("Japan's capital is Tokyo.", CAPITALS),
        ("the capital of japan is tokyo", CAPITALS),
        ("Tokyo is the capital of Japan and London of the UK.", CAPITALS),
        ("London is the capital of UK, and Tokyo is the capital of Japan.", CAPITALS),
        ("Paris is the capital of Japan.", CAPITALS),
        ("The Basic plan costs $10.", PLANS),
        ("You pay $20 monthly for Pro.", PLANS),
        ("The plans cost $10 and $20.", PLANS),
        ("The Basic plan costs $30.", PLANS),
        ("Basic and Pro cost $10 and $20 respectively.", PLANS),
        ("The Pro plan costs $20.", PRICES),
        ("Sales in 2019 were 7.", YEARLY),
        ("Costs in 2018 were 3.", YEARLY),
        ("The fee for savings is $7.", FEES),
        ("Brokerage costs $9.", FEES),
        ("Bob was born in 1960.", BORN),
        ("Alice was born in 1950.", BORN),
        ("Alice Kramer became CEO in 2015.", KRAMER),
        ("Alice Kramer joined in 2010.", KRAMER),
        ("Alice Kramer joined in 2010 and became CEO in 2015.", KRAMER),
        ("Anna manages Bob.", ROLES),
        ("Bob manages Carla.", ROLES),
        ("Bob is managed by Anna.", ROLES),
        ("Acme was founded by Ann Lee.", "Ann Lee founded Acme."),
        ("Ann Lee founded Acme.", "Acme was founded by Ann Lee."),
        ("Bob Costa was hired by Anna Berg.", "Anna Berg hired Bob Costa in 2010."),
        ("Bob married Anna.", "Anna married Bob."),
        ("Pro costs $20.", RESPECTIVELY),
        ("In 2019 sales were 7 million.", SALES),
        ("The fee is $10 in London and $20 in Tokyo.", LIST),
        ("The Pro plan costs $20.", HEADINGS),
        ("Anna Berg and Ben Costa work in Oslo and Lima.", "Anna Berg works in Oslo. Ben Costa works in Lima."),
        ("The game is for PlayStation 5.", "The game was made for PlayStation 4 and PlayStation 5."),
        ("The Raja is a tower in France.", "The Raja is the highest tower in Europe, and it's in Paris, France."),
        ("Ann Lee (born 1950) is a singer.", "Ann Lee (born Ann Wu; 3 May 1950 in Rome) is a singer."),
        ("The sky is blue.", CAPITALS),
        ("", CAPITALS),
        ("London is the capital of Japan.", ""),
        ("El plan Pro cuesta 9 euros.", "El plan Basic cuesta 5 euros y el plan Pro 9 euros."),
        ("Der Pro-Tarif kostet 9 Euro.", "Der Basic-Tarif kostet 5 Euro, der Pro-Tarif 9 Euro."),
        ("Jonas Weber founded the firm.", "Jonas Weber joined early. He founded the firm."),
        ("Jonas Weber founded the firm.", "The founder, Jonas Weber, founded the firm with Marta Ruiz."),
        ("Jonas founded the firm.", "Marta and Jonas founded the firm."),
        ("Jonas founded the firm.", "Marta founded the firm with Jonas."),
        ("Jonas leads sales.", "Marta founded the firm. Jonas leads sales."),
        ("Jonas Weber leads sales.", "Marta Ruiz founded the firm and Jonas Weber leads sales."),
        ("Jonas Weber dirige las ventas.", "Marta Ruiz fundó la empresa y Jonas Weber dirige las ventas."),
        ("The firm was founded by Marta Ruiz.", "Marta Ruiz founded the firm and Jonas Weber leads sales."),
        ("Marta Ruiz and Jonas Weber run the firm.", "Marta Ruiz and Jonas Weber run the firm in Bonn."),
        ("Marta hired Jonas Weber.", "Marta hired Anna and Jonas Weber last year."),
        ("Marta founded the firm in Bonn.", "Marta founded the firm in Oslo and Bonn with two friends."),
        ("Children pay half price.", "Kids pay half price. Children under 5 are free."),
        ("However, sales rose.", "Moreover, sales rose. However, costs fell."),
    ],
)
def test_an_honest_claim_is_not_swapped(claim, evidence):
    """Copies, compressions, passives, pronouns, joined facts, symmetric relations, and what is simply absent."""
    assert signs(claim, evidence).swapped == 0


@pytest.mark.parametrize(
    ("claim", "evidence", "negation"),
    [
        ("The plan does not cover dental care.", "The plan covers dental care.", 1),
        ("The plan covers dental care.", "The plan doesn't cover dental care.", 1),
        ("The plan never covers dental care.", "The plan covers dental care.", 1),
        ("The fee is refundable.", "The fee is not refundable.", 1),
        ("She refused to sign the contract.", "She signed the contract.", 1),
        ("Der Plan deckt die Kosten nicht.", "Der Plan deckt die Kosten nicht.", 0),
        ("Der Plan deckt die Kosten nicht.", "Der Plan deckt die Kosten.", 1),
        ("Die Police deckt Diebstahl.", "Die Police deckt Diebstahl nicht.", 1),
        ("Die Police deckt Feuer.", "Die Police deckt Diebstahl nicht, Feuer aber schon.", 0),
        ("Die Kosten werden vom Plan nicht gedeckt.", "Der Plan deckt die Kosten nicht.", 0),
        ("Deckt die Police Diebstahl?", "Deckt die Police Diebstahl nicht?", 0),
        ("Die Police deckt Diebstahl oder Feuer.", "Die Police deckt Diebstahl oder nicht.", 0),
        ("De polis dekt diefstal.", "De polis dekt diefstal niet.", 1),
        ("De polis dekt diefstal niet.", "De polis dekt diefstal niet.", 0),
        ("この保険は盗難を補償します。", "この保険は盗難を補償しません。", 1),
        ("この保険は盗難を補償しない。", "この保険は盗難を補償する。", 1),
        ("この保険は盗難を補償しません。", "この保険は盗難を補償しません。", 0),
        ("申請しなければなりません。", "申請する必要があります。", 0),
        ("補償の対象外です。", "補償されません。", 0),
        ("在庫は少ない。", "在庫は少ないです。", 0),
        ("一緒に行きます。", "一緒に行きませんか。", 0),
        ("The plan does not cover dental care.", "Dental care is not covered by the plan.", 0),
        ("The plan not only covers dental care.", "The plan covers dental care.", 0),
        ("The museum opened in 1793.", "The museum did not open until 1793.", 0),
        ("The museum has no more than 5 rooms.", "The museum has 5 rooms.", 0),
        ("The museum was No. 5 in Rome.", "The museum was number 5 in Rome.", 0),
        ("The plan does not cover dental care.", "Nothing of this kind is known here.", 0),
        ("The shop is not open.", "The shop is closed.", 0),
    ],
)
def test_a_denial_on_one_side_is_seen(claim, evidence, negation):
    """Not, never, refusals; but neither "not only" nor "not until", and an opposite undoes a denial."""
    assert signs(claim, evidence).negation == negation


@pytest.mark.parametrize(
    ("claim", "evidence", "opposed"),
    [
        ("Sales increased in 2019.", "Sales decreased in 2019.", 1),
        ("Sales rose in May.", "Sales fell in May.", 1),
        ("The shop is open on Monday.", "The shop is closed on Monday.", 1),
        ("Smoking is allowed in the rooms.", "Smoking is prohibited in the rooms.", 1),
        ("The fee excludes breakfast.", "The fee includes breakfast.", 1),
        ("It lies in the north of the city.", "It lies in the south of the city.", 1),
        ("The maximum fee is $5.", "The minimum fee is $5.", 1),
        ("Pay before the trip.", "Pay after the trip.", 1),
        ("All rooms have a balcony.", "Some rooms have a balcony.", 1),
        ("The firm bought the shares.", "The firm sold the shares.", 1),
        ("The treatment is safe for children.", "The treatment is unsafe for children.", 1),
        ("Sales increased in 2019.", "Sales increased in 2019.", 0),
        ("The shop opens at 9 and closes at 5.", "The shop opens at 9 and closes at 5.", 0),
        ("Wash before the meal.", "The meal comes after the wash.", 0),
        ("The sky is blue today.", "Sales decreased in 2019.", 0),
    ],
)
def test_an_opposite_is_seen(claim, evidence, opposed):
    """An opposite in the nearest clause counts, unless both stand there or the text is about something else."""
    assert signs(claim, evidence).opposed == opposed


FAQ = """
It is safe.|Is it safe? No.|1
It is not safe.|Is it safe? No.|0
It is safe.|Is it safe? Yes.|0
It is not safe.|Is it safe? Yes.|1
The cup is dishwasher safe.|Q: Is the cup dishwasher safe?¶A: No. Wash it by hand.|1
The cup is not dishwasher safe.|Q: Is the cup dishwasher safe?¶A: No. Wash it by hand.|0
The cup is dishwasher safe.|## Is the cup dishwasher safe?¶¶**No**, wash it by hand.|1
Wash the cup by hand.|Is the cup dishwasher safe? No, wash the cup by hand.|0
Parking is free.|Is parking free? Unfortunately not.|1
Parking is free.|Is parking free? I'm afraid not.|1
You can cancel the plan.|Can I cancel the plan? Not yet.|1
You need a permit.|Do I need a permit? No.|1
No permit is needed.|Do I need a permit? No.|0
Das Gerät ist wasserdicht.|Ist das Gerät wasserdicht? Nein.|1
Das Gerät ist wasserdicht.|Ist das Gerät wasserdicht? Leider nicht.|1
Das Gerät ist nicht wasserdicht.|Ist das Gerät wasserdicht? Leider nicht.|0
Das Gerät ist nicht wasserdicht.|Ist das Gerät wasserdicht? Ja, natürlich.|1
La garantía cubre robos.|¿La garantía cubre robos? No, lo sentimos.|1
La garantía no cubre robos.|¿La garantía cubre robos? No, lo sentimos.|0
La garantie couvre le vol.|La garantie couvre-t-elle le vol ? Non.|1
La garantie couvre le vol.|La garantie couvre-t-elle le vol ? Malheureusement non.|1
La polizza copre il furto.|La polizza copre il furto? No, purtroppo.|1
A apólice cobre roubo.|A apólice cobre roubo? Não.|1
De polis dekt diefstal.|Dekt de polis diefstal? Nee, helaas niet.|1
この保険は盗難を補償します。|この保険は盗難を補償しますか？いいえ。|1
この保険は盗難を補償しません。|この保険は盗難を補償しますか？いいえ。|0
この保険は盗難を補償しません。|この保険は盗難を補償しますか。はい。|1
Is it safe? Yes.|It is not safe.|1
Is it safe? No.|It is safe.|1
Is it safe? No.|It is not safe.|0
Is it safe? Yes, it is.|Is it safe? No.|1
Parking is included in the Pro plan.|Is parking included in the Basic plan? No, only in the Pro plan.|0
The weight limit for hand luggage is 3 kg.|Is the weight limit for hand luggage 5 kg? No, it is 3 kg.|0
The shop is closed on Sundays.|Is the shop open on Sundays? No.|0
Smoking is prohibited in the rooms.|Is smoking allowed in the rooms? No.|0
Children pay only for meals.|Do children pay for meals? No.|0
It is safe after washing.|Is it safe? No, but it is safe after washing.|0
No pets are allowed.|Are pets allowed? No pets are allowed.|0
Bus 5 is late.|Which bus is late? No. 5 is late.|0
It is safe.|What is safe? No idea.|0
It is safe.|Is it safe? It is not safe.|1
It is not safe.|Is it safe? Nobody says so here.|0
Which plan is free? Basic.|The Pro plan is not free.|0
It is safe.|Isn't it safe? No.|1
The plan covers theft.|No, the plan covers theft.|0
Basic has parking.|| Feature | Basic | Pro |¶|---|---|---|¶| Parking | No | Yes ||1
Pro has parking.|| Feature | Basic | Pro |¶|---|---|---|¶| Parking | No | Yes ||0
Parking is available.|| Feature | Available |¶|---|---|¶| Parking | ✗ ||1
Parking is available.|| Feature | Available |¶|---|---|¶| Parking | ✓ ||0
"""


@pytest.mark.parametrize("line", FAQ.strip().splitlines())
def test_a_question_is_read_with_its_answer(line):
    """In each language, as evidence and as a claim, in prose and tables; a part of what is asked is not denied."""
    claim, evidence = (text.replace("¶", "\n") for text in line[:-2].split("|", 1))
    assert signs(claim, evidence).negation == int(line[-1])


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("The shop is closed on Sundays.", "Is the shop open on Sundays? No."),
        ("The shop is closed.", "The shop is not open."),
        ("The shop is not open.", "The shop is closed."),
        ("It is unsafe.", "Is it safe? No."),
    ],
)
def test_an_opposite_of_what_is_denied_is_none(claim, evidence):
    """What is not open is closed."""
    found = signs(claim, evidence)
    assert (found.opposed, found.negation) == (0, 0)


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("It weighs 2 kg.", "It weighs 2000 g."),
        ("It costs 50 cents.", "It costs €0.50."),
        ("He was born on 14 February.", "He was born on 14 February 1969."),
        ("Es dauert 28 Tage.", "Es dauert vier Wochen."),
    ],
)
def test_a_value_stands_in_its_place_however_it_is_written(claim, evidence):
    """Another unit is no other order of words."""
    assert signs(claim, evidence).order == 1.0


def test_a_text_is_read_once_for_all_that_it_is_put_beside():
    """Facts and values are the same as those read for one pair."""
    claim = ReadText("The Pro plan costs 10 dollars.")
    for text in (PLANS, PRICES, "It costs $10."):
        evidence = ReadText(text)
        assert claim.signs_beside(evidence) == signs(claim.text, text)
        assert claim.worded_as(evidence) == worded_as(claim.text, text)
    assert claim.facts is claim.facts
    assert claim.values is claim.values


def test_coverage_and_order():
    """Shares of the claim's words, and of its neighbouring words that stand in the same order; 1 for none."""
    assert signs("", "anything").coverage == signs("of the", "anything").order == 1.0
    half = signs("The red house burned.", "A red house is here.")
    assert half.coverage == pytest.approx(2 / 3)
    assert half.order == pytest.approx(1 / 2)
    assert signs("house red", "red house").order == 0.0


SENTENCES = """
The Eiffel Tower, completed on 31 March 1889, is 330 metres (1,083 ft) tall.
Dr. Smith didn't see No. 5 until 3 p.m.
Sales rose 5.2% to $1.23 billion in Q3 2021, while costs fell by a third.
Anna manages Bob, and Bob manages Carla.
| Plan | Price | Users |¶|---|---|---|¶| Basic | $10 | 5 |¶| Pro | $20 | 50 |
Die Gebühr beträgt 1.234,56 € pro Jahr.
The U.S. and the U.K. signed the treaty in 1998–99.
No one knows why he refused to go.
東京は2021年3月5日に開いた。
The 35-year-old, born in Paris, France, won twice in the 1990s.
1. First item¶2. Second item (not third)¶3. None
Not only Alice but also Bob was here; neither left.
A, B and C cost 1, 2 and 3 respectively.
It takes 5–10 business days.
Between 5 and 10 people, or about half of them, agreed.
He was neither rich nor poor, and never before had he been both.
GPT-4 beat GPT-3.5 by 10 points on MMLU.
"Ships," she said: "All ships sail."
FEES ARE DUE NOW AND NOT LATER THAN MAY 3.
Le prix est de 1 500 € le 3 mars 2021.
El 20 % de los usuarios no pagan nada.
Temperatures fell from 20 °C to -5 °C overnight.
The shop opens before noon and closes after midnight.
Import taxes rose but export taxes fell.
Key: value¶Name: Anna Berg
https://a.example/x?y=1.5&z=2 has version 1.2.3 of it.
He said [1] that it is so [2, 3].
the quick brown fox jumps over it
Bob is older than Ann, and Ann is older than Cy.
More than 1,000 but fewer than 2,000 came.
Up 5%, not down 5%.
The Bank of America and the Bank of England met at 17:00 on 3/4/2021.
Nine of nine, 9 of 10, ten of 9.
½ cup or 1 1/2 cups
The river Rhine flows north for 1,230 km (765 mi) from the Alps to the North Sea.
Prices start at £9.99 per month (or £99 a year) and rise by up to 10 per cent each April.
Neither the CEO nor the CFO, Ms. Lee, denied that half of the 2,000 staff had left by June 2020.
In the first quarter, 40 % of 1.2m users were in the EU; in the second, only 38 %.
The match ended 2–1 after Kane scored twice, in the 12th and the 88th minute.
The former, not the latter, is open on Mondays.
There are no rooms without a view and no views without a room.
Maria Garcia-Lopez's aunt, Dr. O'Brien, lives in New York City.
"""
LINES = [line.replace("¶", "\n") for line in SENTENCES.strip().splitlines()]


def assert_says_the_same(text):
    """A text beside itself raises no sign."""
    facts = facts_of(text)
    found = compare(facts, facts)
    assert found == Signs(
        numbers=found.numbers,
        numbers_absent=0,
        names=found.names,
        names_absent=0,
        swapped=0,
        transposed=0,
        negation=0,
        answered=0,
        opposed=0,
        remeasured=0,
        altered=0,
        coverage=1.0,
        order=1.0,
    )


@pytest.mark.parametrize("text", LINES)
def test_a_text_carries_itself(text):
    """Sentences of many sorts, and rows of tables."""
    assert_says_the_same(text)


TABLES = [
    PRICES,
    YEARLY,
    LIST,
    HEADINGS,
    FEES,
    RESPECTIVELY,
    SALES,
    PLANS,
    CAPITALS,
    BORN,
    KRAMER,
    ROLES,
    "\n".join(LINES),
]


@pytest.mark.parametrize("text", TABLES)
def test_a_longer_text_carries_itself(text):
    """Tables, lists and paragraphs."""
    assert_says_the_same(text)


SUBJECTS = st.sampled_from("Anna|Bob Costa|the basic plan|Acme|sales|The U.S.|GPT-4|Müller|she".split("|"))
VERBS = st.sampled_from("costs|opened in|did not reach|was founded by|is not|rose by|manages|never had".split("|"))
OBJECTS = st.sampled_from(
    "$10|3 March 2021|5 %|Carla|two weeks|Paris|1,500 users|half of it|no one|ten|1990s".split("|")
)
JOINTS = st.sampled_from([". ", ", and ", "; ", " but ", ", ", ".\n", " while "])
clauses = st.tuples(SUBJECTS, VERBS, OBJECTS).map(" ".join)
plain = st.lists(st.tuples(clauses, JOINTS).map("".join), min_size=1, max_size=6).map("".join)

PIECES = st.sampled_from(
    [*"|\n\t.,:;-–/%$€£¥½'\"()[]年月日万億 0159aAz", "3rd", "1,5", "1/0", "0/0", "n't", "not ", "May ", "half "]
)
ANYTHING = st.one_of(st.text(), st.lists(st.one_of(PIECES, st.text(max_size=3)), max_size=60).map("".join))


@unhurried
@given(plain)
def test_generated_sentences_carry_themselves(text):
    """Whatever is joined to whatever."""
    assert_says_the_same(text)


@unhurried
@given(ANYTHING, ANYTHING)
def test_any_texts_can_be_compared(one, other):
    """Nothing raises, the signs stay in their ranges, and the same texts give the same signs."""
    found = compare(facts_of(one), facts_of(other))
    assert found == compare(facts_of(one), facts_of(other))
    assert 0 <= found.numbers_absent <= found.numbers
    assert 0 <= found.names_absent <= found.names
    assert found.negation in {0, 1}
    assert min(found.swapped, found.opposed) >= 0
    assert 0.0 <= found.coverage <= 1.0
    assert 0.0 <= found.order <= 1.0


@pytest.mark.parametrize(
    "piece",
    [
        "1",
        "1,",
        "1.1",
        "1/",
        "1-",
        "1 ",
        "a ",
        "A ",
        "A.",
        "|",
        "|1",
        "a|A",
        "one ",
        "two hundred ",
        "and 1 ",
        "not ",
        "$1, ",
        "May ",
        "3 May ",
        "年1",
        "1万",
        "x-1",
        "'s",
        "n't ",
        "(",
        "Ann is 5. ",
        "Ann and Bo, ",
        "- a\n",
        "| a | 1 |\n",
        "respectively A and 1 ",
        "\u0301",
        "é",
        "Ann 5, 1. Mario ",
        "1. März ",
        "Ann is in Oslo and Bo in Bath, ",
        "nicht, ",
        "一",
        "99月",
        "ません",
        "111 ",
        "-1,",
        "Is it safe? No. ",
        "Is it? ",
        "か。",
        "| a | No |\n",
        "half past six ",
        "1 hour 2 minutes ",
        "1 h 30 ",
        "03/2011 ",
        "seis y media ",
        "キロメートル1",
        "6時半",
        "five cents ",
        "Ann leads the b and ",
        "Sales rose. ",
        "1. a) ",
        "vingt-",
        "treinta y ",
    ],
)
def test_adversarial_text_takes_linear_time(piece):
    """Of anything: no pattern backtracks, no step looks at all of the rest again. Twice the text, twice the time."""

    def spent(length):
        gc.collect()
        begun = time.process_time()
        facts = facts_of((piece * length)[:length])
        compare(facts, facts)
        return time.process_time() - begun

    assert min(spent(20_000), spent(20_000)) < 3 * max(0.05, min(spent(10_000), spent(10_000)))


def test_what_is_weighed_is_nought_for_a_copy():
    """By name and in order; counts stop at 2, shares are what is lacking."""
    copy = signs(CAPITALS, CAPITALS).weighed()
    assert tuple(copy) == WEIGHED
    assert set(copy.values()) == {0.0}
    other = signs("In 1990 Rome, Oslo, Bern and Kyiv had 7 parks, 8 zoos and 9 lakes.", CAPITALS).weighed()
    assert (other["numbers_absent"], other["names_absent"], other["missing"], other["changed"]) == (2, 2, 1, 1)


@pytest.mark.parametrize(
    ("claim", "evidence", "expected"),
    [
        ("Ann hired Bob in May 2010.", "Bob hired Ann in May 2010.", 1),
        ("The dam in Graham Norton was opened by New York.", "The dam in New York was opened by Graham Norton.", 1),
        ("The talk at Rome in Design School was long.", "The talk at Design School in Rome was long.", 1),
        ("In 2018 they sold 7 ships to Spain.", "In 2018 they sold 7 ships to Spain.", 0),
        ("Ann Lee hired Bob Ray in May.", "Bob Ray was hired by Ann Lee in May.", 0),
        ("He met Ann, Carl and Bob in Rome.", "He met Bob, Carl and Ann in Rome.", 0),
        ("Rome and Bern hold a vote on Monday.", "Bern and Rome hold a vote on Monday.", 0),
        ("In May, Ann Lee opened the mill.", "Ann Lee opened the mill in May.", 0),
        ("Tokyo is far.", "Nothing of the kind.", 0),
        ("", "", 0),
    ],
)
def test_two_names_in_each_others_place_are_seen(claim, evidence, expected):
    """Where the exchange makes the claim run as the evidence does; not in a list, and not in the passive."""
    assert signs(claim, evidence).transposed == expected


@pytest.mark.parametrize(
    ("claim", "evidence", "answered"),
    [
        ("It is safe.", "Is it safe? No.", 1),
        ("It is not safe.", "Is it safe? No.", 0),
        ("It is not safe.", "Is it safe? Yes.", 0),
        ("Is it safe? Yes.", "Is it safe? No, never.", 1),
        ("Hunde sind erlaubt.", "Sind Hunde erlaubt? Leider nicht.", 1),
        ("It is safe.", "It is not safe.", 0),
    ],
)
def test_a_questions_answer_is_a_sign_of_its_own(claim, evidence, answered):
    """It weighs more than a "not": question and answer leave no doubt."""
    assert compare(facts_of(claim), facts_of(evidence)).answered == answered


ALTERED = """
    Take 500 g every 8 hours with food.|Take 500 mg every 8 hours with food.
    Take 500 mg every 8 hours without food.|Take 500 mg every 8 hours with food.
    Part-time staff receive 10 days per month.|Part-time staff receive 10 days of paid vacation per year.
    The plan costs $25 a year.|The Pro plan costs $25 per month and includes 20 users.
    The plan costs $25 yearly.|The Pro plan costs $25 a month and includes 20 users.
    Clause 7 applies to subcontractors.|Clause 7 does not apply to subcontractors.
    You can return sale items.|Sale items are final and cannot be returned.
    Children may take it without consulting a doctor.|Children should not take it without consulting a doctor.
    Can children under 12 take ibuprofen? Yes.|Children under 12 should not take ibuprofen without consulting a doctor.
    Yes, unused vacation carries over to the next year.|Unused vacation does not carry over to the next year.
    Ask at most two weeks in advance.|Ask your manager at least two weeks in advance.
    In 2003 Acme bought Bolt Ltd for 40 million euros.|In 2003 Acme bought Bolt Ltd for $40 million.
    A second bag costs €65.|A second bag costs £65.
    Revenue rose by 13% to $310 million.|Revenue rose by 12% to $310 million.
    The warranty for Model X is 12 months.|The warranty is 24 months for Model X and 12 months for Model Y.
"""
HONEST = """
    They have until seven August to appeal.|They have until 7 August to appeal.
    His will is dated eight Mar. 1671.|His will, dated 8 Mar. 1671, was proved in 1672.
    It was written on August ten, 2018.|It was written on August 10, 2018 at 7:02 pm.
    Take 0.5 g every 8 hours with food.|Take 500 mg every 8 hours with food.
    The plan costs $25 monthly.|The Pro plan costs $25 a month and includes 20 users.
    The bridge is 5 km long.|The bridge is 5,000 m long and 5 m wide.
    Sale items are not returnable.|Sale items are final and cannot be returned.
    Acme was founded by Maria Lopez.|Acme was founded by Maria Lopez. Later she was succeeded by Peter Chan.
    The warranty for Model Y is 12 months.|The warranty is 24 months for Model X and 12 months for Model Y.
    It was first shown in Paris.|The film opened in Paris in 1923. It was not a success.
    David Spade starred in Joe Dirt.|He also starred in the films Tommy Boy, Black Sheep and Joe Dirt.
"""


@pytest.mark.parametrize("line", ALTERED.strip().splitlines())
def test_what_is_worded_as_the_evidence_is_and_differs_is_altered(line):
    """Units, periods, denials, limits, currencies, names and rows that were exchanged in the evidence's own words."""
    assert signs(*line.strip().split("|")).altered


@pytest.mark.parametrize("line", HONEST.strip().splitlines())
def test_what_says_the_same_otherwise_is_not_altered(line):
    """Conversions, paraphrases, and names that the evidence gives by a pronoun."""
    assert not signs(*line.strip().split("|")).altered


@pytest.mark.parametrize(
    ("claim", "evidence", "count"),
    [
        ("It weighs 500 g.", "It weighs 500 mg.", 1),
        ("It takes 10 weeks.", "It takes 10 days.", 1),
        ("It costs 65 dollars.", "It costs £65.", 1),
        ("It weighs 500 g.", "It weighs 0.5 kg.", 0),
        ("It weighs 500 g.", "Weight in g: 500", 0),
        ("It weighs 500 g.", "It weighs 300 g.", 0),
        ("It takes 10 weeks.", "It opened on 10 May.", 0),
    ],
)
def test_a_number_with_another_unit_is_remeasured(claim, evidence, count):
    """Only where the evidence has the number, and never with that unit, or one that means the same."""
    assert signs(claim, evidence).remeasured == count


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("The Model Y is new.", "y"),
        ("He has hepatitis A.", "a"),
        ("It was World War I.", "i"),
        ("Das Modell E fehlt.", "e"),
    ],
)
def test_a_capital_after_a_word_is_part_of_a_name(text, term):
    """What tells one model from another must not be lost as a function word."""
    assert term in facts_of(text).terms


@pytest.mark.parametrize("text", ["A plan is new.", "I think so.", "Then I left.", "Y el plan es nuevo."])
def test_a_capital_that_is_a_word_is_none(text):
    """Articles, conjunctions and "I"."""
    assert not {"a", "i", "y"} & set(facts_of(text).terms)

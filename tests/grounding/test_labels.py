"""Labels: a heading, lead-in or table header asserts nothing only if closed lists and the query say so."""

from __future__ import annotations

import pytest

from proxy.grounding.claims import ClaimReader, split_claims, statement
from proxy.grounding.kinds import kind_of
from proxy.grounding.types import ClaimKind

LABELS = """
# Overview|## Fees|### Fees and charges|## Terms & conditions|**Fees**|**Fees:**|__Summary__|Fees:|Key points:
**Price**:|## Refund policy|Step 1.|Step 2:|## Step 3|**Step 4**|Here are the steps:|# Fees #
Additional information:|Follow these steps:|These are the next steps:|The steps are as follows:|## Important
## Resumen|Pasos:|**Preguntas frecuentes**|Estos son los pasos:|Los requisitos son los siguientes:|Paso 1.
## Résumé|Tarifs :|**Points importants**|Voici les étapes :|## Conditions générales|Étape 2 :
## Zusammenfassung|Kosten:|**Wichtige Hinweise**|Hier sind die Schritte:|Schritt 1:|Die Kosten sind wie folgt:
## Samenvatting|Kosten:|**Veelgestelde vragen**|Hier zijn de stappen:|Volg deze stappen:|Stap 1.
## Resumo|Preços:|**Perguntas frequentes**|Estes são os requisitos:|Siga os passos:|Passo 1.
## Riepilogo|Prezzi:|**Punti principali**|Ecco i passaggi:|Passo 1.
## 概要|料金：|**注意事項**|手順は以下の通りです：|ステップ1|料金と手数料：|返金の条件：|料金について：
"""
CLAIMS = """
# Theft is covered|## Free parking|## Fees: $5|## 5 fees|Refund: yes|**Refund: yes**|**Yes**|## No|# Yes:|## Tokyo
## No fees|## Fees waived|## Refund possible|Fees are due:|The Pro plan includes:|- Fees:|1. Fees:|- **Fees**|Fees
## Fees = free|## Fees → Free|## Fees, refunds|## Fees/refunds|## Not important|## Price (free)|**Free**|**Included:**
## Overview of the plans and prices and fees and terms and refunds|## Fees none|## Without fees|Here are the facts:
Here are the steps nobody needs:|Here is London:|The fees are as high:|## Fees 1|Step 12345.|Step one.|Step 1. Go
**Phone support**|## Next day delivery|**Next month**|## Additional fees|## Refund fees|## $|Overview|Phase 3.|Stage 4.
Here is the phone support:|## Refunds and phone support|## Monthly plan
## Robo|Gratis:|**Sí**|Estos son los gratis:|## Sin tarifas|## Pas de frais|Gratuit :|## Vol|**Oui**|## Keine Kosten
Kostenlos:|## Ja|## Geen kosten|**Nee**|## Sem custos|Grátis:|## Nessun costo|**Sì**|## 無料|はい：|料金なし：|東京：
# 料金は無料|## 返金の料金|電話のサポート：
"""


def all_of(texts):
    """The lines of a list."""
    return texts.strip().replace("\n", "|").split("|")


@pytest.mark.parametrize("text", all_of(LABELS))
def test_a_label_asserts_nothing(text):
    """Nouns that head a section, marked as a heading, in any of the languages."""
    assert kind_of(text) is ClaimKind.HEADING
    assert kind_of(text, query="What does it say about Tokyo?") is ClaimKind.HEADING


@pytest.mark.parametrize("text", all_of(CLAIMS))
def test_whatever_else_a_line_says_is_a_claim(text):
    """A verb, number, name, answer or sign makes a heading a claim; a list item or a line without a mark is none."""
    for query in (None, "What does it say about theft?", "Is parking free?"):
        assert kind_of(text, query=query) is ClaimKind.ASSERTION


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("## Parental leave", "How does parental leave work?"),
        ("## Parental leave policy", "How does parental leave work?"),
        ("**Theft details:**", "What is the theft limit?"),
        ("Here are the steps to reset your password:", "How do I reset my password?"),
        ("Here are the steps to reset your password:", "Can you tell me how to reset my password?"),
        ("## Theft", "What happens after theft?"),
        ("## Baja parental", "¿Cómo funciona la baja parental?"),
        ("Estos son los pasos para cambiar la contraseña:", "¿Cómo puedo cambiar mi contraseña?"),
        ("Voici les étapes pour changer votre adresse :", "Comment changer mon adresse ?"),
        ("Hier sind die Schritte zum Passwort:", "Wie lautet mein Passwort?"),
        ("## 育児休暇", "育児休暇はどうすれば取れますか？"),
        ("育児休暇の条件：", "育児休暇はどうすれば取れますか？"),
    ],
)
def test_a_label_may_repeat_an_open_question(text, query):
    """What was asked about may head the answer."""
    assert kind_of(text, query=query) is ClaimKind.HEADING


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("## Parental leave", "Is parental leave paid?"),
        ("## Parental leave", None),
        ("## Leave parental", "How does parental leave work?"),
        ("## Fees", "Is there a fee?"),
        ("## Fees", "Are fees due?"),
        ("Here are the fees:", "Are there fees?"),
        ("## Basic plan", "Which is cheaper, Basic or Pro?"),
        ("## Basic plan", "What is cheapest: the Basic plan, the Pro plan?"),
        ("## Refund", "What do I get, refund or exchange?"),
        ("## Theft covered", "How is theft covered?"),
        ("## Plan covers theft", "How does the plan cover theft?"),
        ("## Theft coverage", "How does theft affect me?"),
        ("## Theft", "Is theft or fire covered?"),
        ("Here are the steps to get free theft cover:", "How do I get a theft cover?"),
        ("Here are the steps to get it:", "Is it free? How do I get it?"),
        ("Step 2.", "Which step resets the password?"),
        ("Paso 2.", "¿En qué paso se cambia la contraseña?"),
        ("ステップ2", "どのステップでリセットしますか？"),
        ("## Reembolso", "¿Hay reembolso?"),
        ("## Robo", "¿Cubre el robo?"),
        ("## 返金", "返金はありますか？"),
        ("## 育児休暇", "育児休暇は有給ですか、それとも無給ですか？"),
    ],
)
def test_a_label_answers_no_question(text, query):
    """Where the question could be answered by a heading, the heading is judged."""
    assert kind_of(text, query=query) is ClaimKind.ASSERTION


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("| Plan | Price |\n|---|---|", ClaimKind.HEADING),
        ("| Plan | |\n|---|:-:|", ClaimKind.HEADING),
        ("Plan | Price\n--- | ---", ClaimKind.HEADING),
        ("| **Plan** | Price |\n|---|---|", ClaimKind.HEADING),
        ("| プラン | 料金 |\n|---|---|", ClaimKind.HEADING),
        ("| País | Capital |\n|---|---|", ClaimKind.HEADING),
        ("| Plan | Price |", ClaimKind.ASSERTION),
        ("| Plan | $10 |\n|---|---|", ClaimKind.ASSERTION),
        ("| Name | John |\n|---|---|", ClaimKind.ASSERTION),
        ("| Delivery | Next day |\n|---|---|", ClaimKind.ASSERTION),
        ("| Theft is covered | Price |\n|---|---|", ClaimKind.ASSERTION),
        ("| Fees | Free |\n|---|---|", ClaimKind.ASSERTION),
        ("| London | capital of Japan |\n|---|---|", ClaimKind.ASSERTION),
        ("| Plan | Price |\n| Basic | - |", ClaimKind.ASSERTION),
        ("| Plan | Price |\n|---|---| free", ClaimKind.ASSERTION),
        ("|" + " Plan |" * 13 + "\n|" + "---|" * 13, ClaimKind.ASSERTION),
    ],
)
def test_a_table_header_asserts_nothing_if_its_cells_are_labels(text, kind):
    """A first row may hold data: only nouns that name columns are none."""
    assert kind_of(text, query="What do you know?") is kind


def kinds(text, query=None):
    """The kinds of an answer's claims, in one letter."""
    return "".join(claim.kind.value[0] for claim in split_claims(text, query=query))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("## Fees\nThey are due.\n## Refunds\nNone are made.", "haha"),
        ("# Overview\n## Fees\nThey are due.", "hha"),
        ("# Overview\n**Fees**\nThey are due.", "hha"),
        ("# Exclusions\n## Refunds\n## Fees\nText is here.", "hhaa"),
        ("# Exclusions\n## Refunds\n### Fees\nText is here.", "hhaa"),
        ("Exclusions:\n**Refunds**\nText is here.", "haa"),
        ("Exclusions:\nRefunds:\nFees:\nText is here.", "haaa"),
        ("The plan covers:\n## Refunds\n## Fees\nText is here.", "aaaa"),
        ("Here is a summary:\n**Refunds**\nText is here.", "caa"),
        ("**Fees**\n**Refunds**\nText is here.", "haa"),
        ("Step 1.\nStep 2.\nIt is done.", "haa"),
        ("Step 1. Go there. Step 2. It is done.", "haha"),
        ("```\n# Fees\n```\nIt is done.", "aa"),
        ("- Refunds:\n- Fees:\nIt is done.", "aaa"),
        ("| Plan |\n|---|\n| Fee |\n|---|\nIt is done.", "haa"),
        ("It covers:\n\n| Plan |\n|---|\n\n| Fee |\n|---|\nIt is done.", "aaaa"),
        ("It has:\n\n| Plan | Fee |\n|---|---|\n| A | 1 |", "aha"),
    ],
)
def test_labels_one_under_another_are_a_list(text, expected):
    """One heading may stand under another; a row of them lists something, and so does one under a lead-in."""
    assert kinds(text) == expected


ANNOUNCING = """
The box contains:|The steps are:|**The box contains:**|The starter kit includes:|The parts are the following:
Die Lieferung umfasst:|Zum Lieferumfang gehören:|El paquete incluye:|La boîte contient :|L'abonnement comprend :
La scatola contiene:|A caixa contém:|De doos bevat:|箱には以下のものが含まれます：
"""
CLAIMING = """
The Pro plan includes:|The box contains 5 parts:|The plan does not cover:|The plan never covers:|Jonas includes:
The toxic vaccine contains:|The free box contains:|It includes:|The moon is made of cheese and contains:|Contains:
Der Tarif Pro umfasst:|Der tödliche Impfstoff enthält:|Acme umfasst:|Kein Tarif umfasst:|El plan no cubre:
Le plan ne couvre pas :|The firm was founded by:|Only the box contains:|箱には5個のものがあります：
"""


@pytest.mark.parametrize("text", ANNOUNCING.strip().replace("\n", "|").split("|"))
def test_a_lead_in_that_only_announces_asserts_nothing(text):
    """The list that follows is judged with it; without one, or with another text in between, it is judged itself."""
    query = "What is in the starter kit?"
    claims = split_claims(f"{text}\n- a cable\n2. a plug", query=query)
    assert [claim.kind for claim in claims] == [ClaimKind.HEADING, ClaimKind.ASSERTION, ClaimKind.ASSERTION]
    assert all(claim.context == statement(claims[0]) for claim in claims[1:])
    for rest in ("", "\nA cable is in it.", "\n\nA cable.\n\n- a plug", "\n## Parts\n- a plug", "\n- Thanks!"):
        assert split_claims(text + rest, query=query)[0].kind is ClaimKind.ASSERTION


@pytest.mark.parametrize("text", CLAIMING.strip().replace("\n", "|").split("|"))
def test_a_lead_in_with_more_is_a_claim(text):
    """A name, a number, a negation, a word that states something, a pronoun, another verb."""
    assert split_claims(f"{text}\n- a cable\n- a plug", query="What is it?")[0].kind is ClaimKind.ASSERTION


def test_a_lead_in_is_held_back_until_the_next_claim_is_known():
    """Text that arrives later changes no claim that was given out."""
    reader = ClaimReader()
    assert reader.feed("The box contains:\n" + "- a cable is in there"[:2]) == []
    given = reader.feed("a cable is in there, and more.\nThe end is near. " + "x" * 40)
    assert [claim.kind for claim in given][:2] == [ClaimKind.HEADING, ClaimKind.ASSERTION]
    assert [claim.index for claim in [*given, *reader.close()]] == [0, 1, 2, 3]

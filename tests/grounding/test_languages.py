"""English or not: what the scorer chooses its model by."""

from __future__ import annotations

import pytest

from proxy.grounding.languages import both_english, is_english


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The fee is $10.", True),
        ("We don't have a son.", True),
        ("Michael's restaurant opens in Santa Monica, near Los Angeles.", None),
        ("The market is called Mercat and was built by de la Cruz.", True),
        ("La capital de Japón es Tokio.", False),
        ("La biblioteca abre a las nueve.", False),
        ("La biblioteca apre alle nove.", False),
        ("Tóquio é a capital do Japão.", False),
        ("La capitale du Japon est Tokyo.", False),
        ("Die Gebühr beträgt 10 Euro.", False),
        ("De hoofdstad van Nederland is Amsterdam.", False),
        ("Non è possibile.", False),
        ("日本の首都は東京です。", False),
        ("Столица Японии Токио.", False),
        ("ประเทศญี่ปุ่น", False),
        ("Müller Gürtel", False),
        ("Painter: Leonardo da Vinci", None),
        ("Charles de Gaulle", None),
        ("Oscar de la Renta", None),
        ("He met Du Mont.", None),
        ("He met Ursula von der Leyen.", None),
        ("Der Tarif kostet nichts.", False),
        ("Le forfait est gratuit.", False),
        ("Universidad de Japón", False),
        ("Tokyo", None),
        ("$10", None),
        ("", None),
        ("Bob is in Tokyo", None),
    ],
)
def test_small_words_and_letters_tell(text, expected):
    """Shared words, names and numbers say nothing."""
    assert is_english(text) is expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("The capital is Tokyo.", "Tokyo", True),
        ("La capital de Japón es Tokio.", "Tokio", False),
        ("Tokyo", "Tokyo", True),
        ("The capital of Japan is Tokyo.", "La capitale du Japon est Tokyo.", False),
        ("Tokyo", "La capitale du Japon est Tokyo.", False),
    ],
)
def test_a_text_without_language_takes_that_of_the_other(one, other, expected):
    """Two languages are not English, whichever is first."""
    assert both_english(one, other) is expected
    assert both_english(other, one) is expected

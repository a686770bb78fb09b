"""Kinds in the user's language: what asserts nothing is known in seven more than English, and nothing else is."""

from __future__ import annotations

import pytest

from proxy.grounding.kinds import kind_of
from proxy.grounding.types import ClaimKind

A, C, Q, N = ClaimKind.ASSERTION, ClaimKind.COURTESY, ClaimKind.QUESTION, ClaimKind.ABSTENTION

# Each language: a query that asks what and how, whose words the sentences may repeat; then sentences by kind.
SPANISH = (
    "¿Cuánto cuesta el plan Pro, es gratis el desayuno y qué cubre el seguro en caso de robo?",
    """
    Hola.|¡Hola! ¿En qué puedo ayudarle hoy?|Buenos días.|Muchas gracias por su pregunta.|Buena pregunta.
    Espero que esto le ayude.|No dude en preguntar.|Si tiene más preguntas, no dude en contactarnos.
    Aquí tiene un resumen:
    Esto es lo que encontré:|Estoy aquí para ayudarte.|¿Hay algo más en lo que pueda ayudarle?|**¡Hola!**
    """,
    """
    ¿Qué le gustaría saber?|¿Qué plan tiene?|¿Puede aclarar su pregunta?|¿Podría darme más detalles?
    ¿Quiere más información sobre el plan Pro?|¿Necesita ayuda con el seguro?|¿Cuál es su plan?|¿A qué plan se refiere?
    """,
    """
    No lo sé.|No sé.|Lo siento, no sé cuánto cuesta el plan Pro.|Los documentos no lo mencionan.
    Los documentos no mencionan el plan Pro.|No encuentro esa información en los documentos.
    El texto no dice nada al respecto.
    Lo siento, pero no tengo información sobre el robo.|No hay información disponible sobre el seguro en los documentos.
    Según los documentos, no puedo determinar si es gratis el desayuno.|En los documentos no se menciona el plan Pro.
    Lamentablemente, la documentación no contiene información sobre el plan Pro.|No puedo responder a esa pregunta.
    Los documentos no especifican qué cubre el seguro.|Los documentos no lo mencionan, así que no puedo responder.
    El contexto proporcionado no incluye información sobre el robo.|Esa información no aparece en los documentos.
    """,
    """
    No sé, pero el plan cuesta 20 euros.|Los documentos no lo mencionan, así que es gratis.|No lo sé, es gratis.
    No sé si el plan es gratis, pero cubre el robo.|El seguro no cubre el robo.|La póliza no incluye el desayuno.
    La documentación no cubre el robo.|No hay desayuno.|No cuesta nada.|Sí.|No.|Es gratis.|El plan Pro no es gratis.
    Los documentos no mencionan que el plan es gratis.|Los documentos mencionan el plan Pro.|No sé: es gratis.
    ¿Sabía que el plan es gratis?|¿Es gratis el desayuno?|Hola, el plan es gratis.|Gracias por pagar veinte euros.
    El desayuno es gratis y no se menciona en los documentos.|No tengo dudas de que es gratis.|Claro que cubre el robo.
    Los documentos no mencionan el plan y es gratis.|No sé cuánto cuesta el plan Básico.|No hay información: gratis.
    No hay robo sin cobertura.|Los documentos no incluyen el desayuno.|Aquí tiene la respuesta: gratis.
    Lamentablemente.|Lamentablemente, no.|No lo sé. es gratis.|No solo sé cuánto cuesta.
    Desconozco a quien no es gratis.
    """,
)
FRENCH = (
    "Combien coûte le forfait Pro, le petit déjeuner est-il gratuit et que couvre l'assurance en cas de vol ?",
    """
    Bonjour !|Bonsoir.|Bonjour ! Comment puis-je vous aider aujourd'hui ?|Merci beaucoup pour votre question.
    C'est une bonne question.|J'espère que cela vous aide.|J’espère que cela vous aidera !|N'hésitez pas à me contacter.
    Si vous avez d'autres questions, n'hésitez pas.|Voici un résumé :|Voici ce que j'ai trouvé :
    Je reste à votre disposition.
    """,
    """
    Que souhaitez-vous savoir ?|Quel forfait avez-vous ?|Pouvez-vous préciser votre question ?
    Pourriez-vous me donner plus de détails ?|Souhaitez-vous en savoir plus sur le forfait Pro ?
    Quel est votre forfait ?
    Avez-vous besoin d'aide ?|Avez-vous d'autres questions ?
    """,
    """
    Je ne sais pas.|Je suis désolé, mais je ne sais pas combien coûte le forfait Pro.
    Les documents ne le mentionnent pas.
    Les documents ne mentionnent pas le forfait Pro.|Je n'ai pas trouvé cette information dans les documents.
    Je n’ai pas trouvé d’informations sur le vol.|Le texte ne dit rien à ce sujet.
    Je ne peux pas répondre à cette question.
    Malheureusement, les documents ne contiennent pas d'informations sur le forfait Pro.|Je ne connais pas la réponse.
    Il n'y a aucune information sur l'assurance dans les documents.|D'après les documents, je ne peux pas le dire.
    Cette information n'est pas mentionnée dans les documents.
    Les documents ne précisent pas si le petit déjeuner est gratuit.
    Les documents ne le précisent pas, donc je ne peux pas répondre.|Aucune information sur le vol n'est disponible.
    """,
    """
    Je ne sais pas, mais le forfait coûte 20 euros.|Les documents ne le mentionnent pas, donc c'est gratuit.
    Je ne sais pas, c'est gratuit.|L'assurance ne couvre pas le vol.|La police n'inclut pas le petit déjeuner.
    La documentation ne couvre pas le vol.|Oui.|Non.|C'est gratuit.|Le forfait Pro n'est pas gratuit.
    Il n'y a pas de petit déjeuner.
    Les documents ne mentionnent pas que le forfait est gratuit.|Les documents mentionnent le forfait Pro.
    Saviez-vous que le forfait est gratuit ?|Le petit déjeuner est-il gratuit ?|Bonjour, le forfait est gratuit.
    Je ne sais pas si le forfait est gratuit, mais il couvre le vol.|Je ne sais pas : gratuit.|Malheureusement, non.
    Les documents ne mentionnent pas le forfait et le vol est gratuit.|Je n'ai aucun doute, c'est gratuit.
    Les documents ne contiennent pas le petit déjeuner.|Voici la réponse : gratuit.|Bien sûr que c'est gratuit.
    Je ne sais pas combien coûte le forfait Basique.|Malheureusement.|Il n'y a aucun vol sans assurance.
    """,
)
GERMAN = (
    "Wie viel kostet der Pro Tarif, ist das Frühstück kostenlos und was deckt die Versicherung bei Diebstahl?",
    """
    Hallo!|Guten Tag.|Hallo! Wie kann ich Ihnen heute helfen?|Vielen Dank für Ihre Frage.|Das ist eine gute Frage.
    Ich hoffe, das hilft Ihnen weiter.|Melden Sie sich gerne.|Wenn Sie weitere Fragen haben, lassen Sie es mich wissen.
    Hier ist eine Zusammenfassung:|Hier ist, was ich gefunden habe:|Ich helfe Ihnen gerne.|Danke der Nachfrage.
    """,
    """
    Was möchten Sie wissen?|Welchen Tarif haben Sie?|Können Sie Ihre Frage bitte präzisieren?|Was ist Ihr Tarif?
    Könnten Sie mir bitte mehr Informationen geben?|Möchten Sie mehr über die Versicherung wissen?|Brauchen Sie Hilfe?
    Haben Sie weitere Fragen zum Pro Tarif?
    """,
    """
    Das weiß ich leider nicht.|Ich weiß es nicht.|Es tut mir leid, ich weiß nicht, wie viel der Pro Tarif kostet.
    Die Dokumente erwähnen das nicht.|Die Dokumente erwähnen den Pro Tarif nicht.|Dazu habe ich keine Informationen.
    Ich habe keine Informationen dazu in den Dokumenten gefunden.|Dazu steht nichts in den Dokumenten.
    Die Dokumente enthalten keine Informationen zum Pro Tarif.
    Leider enthalten die Dokumente keine Angaben dazu.|In den Dokumenten wird der Pro Tarif nicht erwähnt.
    Ich kann diese Frage leider nicht beantworten.|Das geht aus den Dokumenten nicht hervor.
    Das wird im Text nicht erwähnt.
    Es gibt keine Informationen über die Versicherung in den Dokumenten.
    Der Kontext enthält keine Informationen über Diebstahl.
    Ich weiß nicht, ob das Frühstück kostenlos ist.
    Das wird im Text nicht erwähnt, daher kann ich das nicht beantworten.
    """,
    """
    Ich weiß es nicht, aber der Tarif kostet 20 Euro.|Die Dokumente erwähnen das nicht, daher ist es kostenlos.
    Das weiß ich nicht, es ist kostenlos.|Die Versicherung deckt Diebstahl nicht.|Die Police enthält kein Frühstück.
    Die Dokumentation deckt Diebstahl nicht ab.|Ja.|Nein.|Es ist kostenlos.|Der Pro Tarif ist nicht kostenlos.
    Leider nein.
    Die Dokumente erwähnen nicht, dass der Tarif kostenlos ist.|Die Dokumente erwähnen den Pro Tarif.|Kein Frühstück.
    Wussten Sie, dass der Tarif kostenlos ist?|Ist das Frühstück kostenlos?|Hallo, der Tarif ist kostenlos.|Leider.
    Ich weiß nicht, ob der Tarif kostenlos ist, aber er deckt Diebstahl.|Ich weiß nicht: kostenlos.
    Die Dokumente enthalten die Informationen zum Pro Tarif.|Ich habe die Informationen.|Es gibt keine Versicherung.
    Die Dokumente erwähnen das Frühstück nicht und es ist kostenlos.|Hier ist die Antwort: kostenlos.
    Natürlich ist es kostenlos.
    Ich weiß nicht, wie viel der Basis Tarif kostet.|Die Dokumente enthalten kein Frühstück.
    Diebstahl ist nicht gedeckt.
    """,
)
DUTCH = (
    "Hoeveel kost het Pro abonnement, is het ontbijt gratis en wat dekt de verzekering bij diefstal?",
    """
    Hallo!|Goedemorgen.|Hallo! Hoe kan ik u vandaag helpen?|Bedankt voor uw vraag.|Dat is een goede vraag.
    Ik hoop dat dit u helpt.|Laat het me weten.|Als u nog vragen hebt, laat het me gerust weten.
    Hier is een samenvatting:
    Dit is wat ik heb gevonden:|Hartelijk dank.|Ik help u graag verder.
    """,
    """
    Wat wilt u weten?|Welk abonnement heeft u?|Kunt u uw vraag verduidelijken?|Kunt u me meer informatie geven?
    Wilt u meer weten over het Pro abonnement?|Heeft u hulp nodig?|Wat is uw abonnement?|Waarom vraagt u dat?
    """,
    """
    Dat weet ik niet.|Ik weet het niet.|Het spijt me, ik weet niet hoeveel het Pro abonnement kost.
    De documenten vermelden dat niet.|De documenten vermelden het Pro abonnement niet.|Ik heb hierover geen informatie.
    Helaas bevatten de documenten geen informatie over diefstal.|De documenten bevatten geen informatie over diefstal.
    Ik kan deze vraag helaas niet beantwoorden.|Ik kan geen informatie over het ontbijt vinden.
    Er is geen informatie over de verzekering in de documenten.|In de documenten wordt dat niet vermeld.
    Dat staat niet in de documenten.|De tekst zegt hier niets over.|Ik weet niet of het ontbijt gratis is.
    De documenten vermelden dat niet, dus ik kan het niet zeggen.|Het antwoord staat niet in de tekst.
    """,
    """
    Ik weet het niet, maar het abonnement kost 20 euro.|De documenten vermelden dat niet, dus het is gratis.
    Dat weet ik niet, het is gratis.|De verzekering dekt diefstal niet.|De polis bevat geen ontbijt.|Helaas niet.
    De documentatie dekt diefstal niet.|Ja.|Nee.|Het is gratis.|Het Pro abonnement is niet gratis.|Er is geen ontbijt.
    De documenten vermelden niet dat het ontbijt gratis is.|De documenten vermelden het Pro abonnement.|Helaas.
    Wist u dat het ontbijt gratis is?|Is het ontbijt gratis?|Hallo, het ontbijt is gratis.|Ik weet niet: gratis.
    Ik weet niet of het ontbijt gratis is, maar de verzekering dekt diefstal.|Ik heb de informatie.
    De documenten bevatten de informatie over diefstal.|De documenten vermelden het ontbijt niet en het is gratis.
    Hier is het antwoord: gratis.|Natuurlijk is het gratis.|Ik weet niet hoeveel het Basis abonnement kost.
    De documenten bevatten geen ontbijt.|Er is geen verzekering.|Diefstal is niet gedekt.
    """,
)
PORTUGUESE = (
    "Quanto custa o plano Pro, o café da manhã é grátis e o que cobre o seguro em caso de roubo?",
    """
    Olá!|Bom dia.|Olá! Como posso ajudar hoje?|Muito obrigado pela pergunta.|Boa pergunta.|Espero que isso ajude.
    Espero ter ajudado.|Se tiver mais perguntas, não hesite em perguntar.|Aqui está um resumo:
    Aqui está o que encontrei:
    Estou à disposição.|Como posso ajudá-lo?
    """,
    """
    O que você gostaria de saber?|Qual plano você tem?|Você poderia esclarecer sua pergunta?
    Pode me dar mais detalhes?|Você quer saber mais sobre o plano Pro?|Qual é o seu plano?
    Você precisa de ajuda com o seguro?
    Você tem alguma pergunta sobre o seguro?
    """,
    """
    Não sei.|Desculpe, não sei quanto custa o plano Pro.|Os documentos não mencionam o plano Pro.
    Os documentos não dizem.
    Não encontrei essa informação nos documentos.|Infelizmente, os documentos não contêm informações sobre o roubo.
    O texto não diz nada a respeito.|Não há informações sobre o seguro nos documentos.
    Não posso responder a essa pergunta.
    Essa informação não está disponível nos documentos.|Não tenho informações sobre o café da manhã.
    Nos documentos não há informações sobre o roubo.|Os documentos não especificam se o café da manhã é grátis.
    O plano Pro não é mencionado nos documentos.|Os documentos não dizem, portanto não posso responder.
    """,
    """
    Não sei, mas o plano custa 20 euros.|Os documentos não mencionam isso, portanto é grátis.|Não sei, é grátis.
    O seguro não cobre roubo.|A apólice não inclui café da manhã.|A documentação não cobre o roubo.|Sim.|Não.|É grátis.
    O plano Pro não é grátis.|Os documentos não mencionam que o plano é grátis.|Os documentos mencionam o plano Pro.
    Você sabia que o plano é grátis?|O café da manhã é grátis?|Olá, o plano é grátis.|Não há café da manhã.
    Não sei se o plano é grátis, mas cobre roubo.|Não sei: grátis.|Infelizmente.|Infelizmente, não.
    Os documentos não mencionam o plano e o café é grátis.|Não tenho dúvida de que é grátis.
    Os documentos não contêm café da manhã.
    Aqui está a resposta: grátis.|Claro que é grátis.|Não sei quanto custa o plano Básico.|Não há roubo sem seguro.
    """,
)
ITALIAN = (
    "Quanto costa il piano Pro, la colazione è gratis e cosa copre l'assicurazione in caso di furto?",
    """
    Ciao!|Buongiorno.|Ciao! Come posso aiutarti oggi?|Grazie mille per la tua domanda.|Ottima domanda.
    Spero che questo ti aiuti.|Se hai altre domande, non esitare a chiedere.|Ecco un riepilogo:|Ecco cosa ho trovato:
    Sono qui per aiutarti.|Fammi sapere.|C'è altro in cui posso aiutarti?
    """,
    """
    Cosa vorresti sapere?|Quale piano hai?|Puoi chiarire la tua domanda?|Può darmi più dettagli?
    Vuoi saperne di più sul piano Pro?|Qual è il tuo piano?|Hai bisogno di aiuto?|Hai altre domande sul piano Pro?
    """,
    """
    Non lo so.|Mi dispiace, non so quanto costa il piano Pro.|I documenti non lo menzionano.|Non so rispondere.
    I documenti non menzionano il piano Pro.|Non ho trovato questa informazione nei documenti.
    Il testo non dice nulla al riguardo.
    Purtroppo i documenti non contengono informazioni sul furto.|Non posso rispondere a questa domanda.
    Non ci sono informazioni sull'assicurazione nei documenti.|Questa informazione non è presente nei documenti.
    Il piano Pro non è menzionato nei documenti.|Nei documenti non ci sono informazioni sulla colazione.
    I documenti non specificano se la colazione è gratis.|I documenti non lo specificano, quindi non posso rispondere.
    """,
    """
    Non lo so, ma il piano costa 20 euro.|I documenti non lo menzionano, quindi è gratis.|Non lo so, è gratis.
    L'assicurazione non copre il furto.|La polizza non include la colazione.|La documentazione non copre il furto.|Sì.
    No.
    È gratis.|Il piano Pro non è gratis.|I documenti non menzionano che il piano è gratis.
    I documenti menzionano il piano Pro.
    Sapeva che il piano è gratis?|La colazione è gratis?|Ciao, il piano è gratis.|Non c'è colazione.|Purtroppo.
    Purtroppo no.
    Non so se il piano è gratis, ma copre il furto.|Non so: gratis.
    I documenti non menzionano il piano e la colazione è gratis.
    Non ho dubbi che sia gratis.|I documenti non contengono la colazione.|Ecco la risposta: gratis.|Certo che è gratis.
    Non so quanto costa il piano Base.|Non c'è furto senza assicurazione.
    """,
)
JAPANESE = (
    "Proプランの料金はいくらですか。朝食は無料ですか。保険は盗難を補償しますか？どうすれば解約できますか？",
    """
    こんにちは。|おはようございます！|ご質問ありがとうございます。|お問い合わせいただき、ありがとうございます。
    良い質問ですね。
    お役に立てれば幸いです。|他にご質問がありましたら、お気軽にお尋ねください。|以下の通りです。|こちらがまとめです：
    どのようなご用件でしょうか？|よろしくお願いいたします。|何かお手伝いできることはありますか？
    """,
    """
    何をお知りになりたいですか？|どのプランをお使いですか？|ご質問の内容をもう少し詳しく教えていただけますか？
    もう少し詳しく教えていただけますか？|保険についてもっと詳しく知りたいですか？|他に知りたいことはありますか？
    どのプランのことですか？|さらに詳細が必要ですか？
    """,
    """
    わかりません。|申し訳ありませんが、わかりません。|料金については分かりません。|文書には記載がありません。
    文書には料金の記載がありません。|提供された情報からは確認できません。|その情報は見つかりませんでした。
    料金に関する情報はありません。|資料には盗難について記載されていません。|その質問にはお答えできません。
    料金については、文書に記載がありません。|文書には保険に関する情報が含まれていません。
    朝食が無料かどうかはわかりません。
    申し訳ございませんが、ドキュメントには料金についての記載が見つかりませんでした。
    文書に記載がないため、お答えできません。|盗難についての情報を持っていません。
    """,
    """
    わかりませんが、料金は千円です。|文書には記載がありませんので、無料です。|わかりません、無料です。
    朝食はありません。
    保険は盗難を補償しません。|料金はありません。|はい。|いいえ。|無料です。|文書には料金の記載があります。
    無料ではありません。
    朝食は無料ですが記載されていません。|プランは無料でわかりません。|こんにちは、無料です。|もちろん無料です。
    料金の記載はありませんが、無料です。|情報料はありません。|料金は無料、わかりません。|文書は朝食を含みません。
    ご存知でしたか、無料です。|朝食は無料ですか？|基本プランの料金はわかりません。|盗難の補償はありません。|残念ながら。
    """,
)
LANGUAGES = {
    "es": SPANISH,
    "fr": FRENCH,
    "de": GERMAN,
    "nl": DUTCH,
    "pt": PORTUGUESE,
    "it": ITALIAN,
    "ja": JAPANESE,
}


def each(*columns):
    """(query, kind, sentence) for every sentence in these columns: 1 to 4."""
    return [
        pytest.param(language[0], kind, text, id=f"{code}-{text}")
        for code, language in LANGUAGES.items()
        for column, kind in ((1, C), (2, Q), (3, N), (4, A))
        if column in columns
        for line in language[column].strip().splitlines()
        for text in line.strip().split("|")
    ]


@pytest.mark.parametrize(("query", "kind", "text"), each(1, 2, 3))
def test_what_asserts_nothing_is_known_in_the_language(query, kind, text):
    """Greetings, questions back and abstentions are typed so, in the language of the user."""
    assert kind_of(text, query=query) is kind


@pytest.mark.parametrize(("query", "kind", "text"), each(4))
def test_what_asserts_something_stays_an_assertion(query, kind, text):
    """However it is dressed, what says something of the subject is judged."""
    assert kind_of(text, query=query) is kind


ASSENTS = [
    ("¡Claro!", "¿Cuánto cuesta el plan?", "¿Es gratis el plan?"),
    ("Por supuesto.", "Hola, ¿qué cubre el seguro?", "¿Qué cubre el seguro, cubre el robo?"),
    ("Bien sûr !", "Combien coûte le forfait ?", "Le forfait est-il gratuit ?"),
    ("Natürlich!", "Wie viel kostet der Tarif?", "Ist der Tarif kostenlos?"),
    ("Gerne!", "Hallo, was deckt die Versicherung?", "Deckt die Versicherung Diebstahl?"),
    ("Natuurlijk!", "Hoeveel kost het abonnement?", "Is het abonnement gratis?"),
    ("Claro!", "Quanto custa o plano?", "O plano é grátis?"),
    ("Certo!", "Quanto costa il piano?", "Il piano è gratis?"),
    ("もちろんです。", "料金はいくらですか？", "料金は無料ですか？"),
    ("Of course!", "¿Cuánto cuesta el plan?", "¿Es gratis el plan?"),
    ("Sure!", "Hi, what is the fee?", "What is the fee, and is it free?"),
    ("¡Claro!", "¿Cuáles son los precios y plazos?", "¿Cuál es el precio y se puede cancelar?"),
    ("Bien sûr !", "Quels sont les frais et délais ?", "Quels sont les frais et sont-ils remboursés ?"),
    ("Natürlich!", "Was kostet der Tarif?", "Was kostet der Tarif und ist er kündbar?"),
    ("Natuurlijk!", "Wat zijn de kosten en voordelen?", "Wat zijn de kosten en kan ik opzeggen?"),
    ("Claro!", "Quais são os custos e prazos?", "Quais são os custos e posso cancelar?"),
    ("Certo!", "Come funziona il rimborso?", "Come funziona il rimborso e posso averlo?"),
    ("もちろんです。", "いつから使えますか？", "いつでも使えますか？"),
]


@pytest.mark.parametrize(("text", "openly", "closed"), ASSENTS)
def test_assent_answers_what_yes_answers(text, openly, closed):
    """Assent is a courtesy where the query asks what or how, and an answer where yes could be one."""
    assert kind_of(text, query=None) is C
    assert kind_of(text, query=openly) is C
    assert kind_of(text, query=closed) is A


@pytest.mark.parametrize(
    "text", ["No sé cuánto cuesta el plan Pro es gratis.", "No lo sé\nes gratis", "Não sei porque é grátis."]
)
def test_no_second_clause_rides_on_an_abstention(text):
    """One verb follows "how much", none a noun, and nothing a line break."""
    query = "¿Cuánto cuesta el plan Pro y es gratis? É grátis?"
    assert kind_of(text, query=query) is A


@pytest.mark.parametrize(
    "text",
    ["No lo se\u0301.", "No\u200b lo sé.", "**No lo sé.**", "- No lo sé.", "No lo sé…", "¡No lo sé!", "No  lo  sé."],
)
def test_how_a_sentence_is_set_does_not_change_its_kind(text):
    """Composed accents, stress, bullets and marks are not what it says."""
    assert kind_of(text) is N


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Hello 👋!", C),
        ("👋🏽 Hi there!", C),
        ("Thanks ☺️", C),
        ("😊", C),
        ("I don't know 🙂.", N),
        ("We are open 😊.", A),
        ("Sure 😊", A),
        ("Hello ✅", A),
        ("❌", A),
        ("👍", A),
    ],
)
def test_a_smile_says_nothing_and_a_tick_may(text, kind):
    """So a greeting stays one, and what may stand for yes or no is judged."""
    assert kind_of(text, query="Are you open?") is kind

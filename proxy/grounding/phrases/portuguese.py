"""Portuguese, of Brazil and of Portugal."""

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
            (fornecid|disponibilizad|consultad|recuperad|apresentad|dad)(o|a|os|as)
            (que tenho|que me foram fornecidos|que você (forneceu|me deu)|ao meu dispor)
            de (referência|consulta)
        """,
        "the": "(o|a|os|as|este|esta|estes|estas|esse|essa|esses|essas|seu|sua|seus|suas|meus|minhas|nossos|nossas)",
    }
)

_PARTS = parts_of(
    {
        "that": """
            (isso|isto|esse assunto|este assunto|o assunto|esse tema|este tema|o tema|esse ponto)
            (essa|esta|a|sua|tua|à sua|a sua|à) pergunta
        """,
        "info": """
            [nenhuma|essa|esta|qualquer|suficiente|mais|a] (informação|menção|referência|resposta)
            [as|essas|mais|suficientes|quaisquer] (informações|detalhes)
            (uma|a|nenhuma) resposta
            informações suficientes
        """,
        "about": """
            [suficiente|suficientes|específica|específicas] (sobre|acerca de|a respeito de|quanto a|relativa a) \
                (<that>|<topic>)
            [suficiente|suficientes|específica|específicas] (acerca|a respeito|quanto) (do|da|dos|das|ao|à) <topic>
            (de|do|da|dos|das|para) <topic>
            (a esse respeito|a respeito|sobre o assunto|suficiente|suficientes|específica|específicas)
        """,
        "wh": """
            (se|quanto|quanta|quantos|quantas|quando|onde|como|quem|qual|quais|o que)
            (em|de|a|com) (que|qual|quais)
        """,
        "ask": "(<wh> <topic>|<that>|<topic>)",
        "say": """
            (menciona|especifica|indica|informa|explica|descreve|detalha|esclarece|aborda|trata)[m]
            (diz|dizem|descrevem|refere|referem|responde|respondem)
        """,
        "hold": "(contém|contêm|oferece|oferecem|fornece|fornecem|traz|trazem|apresenta|apresentam|dá|dão|tem|têm)",
        "told": "(mencionad|especificad|indicad|informad|descrit|detalhad|explicad|abordad|referid)(o|a|os|as)",
        "plainly": "(explicitamente|especificamente|claramente|expressamente|diretamente)",
    }
)

_COURTESIES = """
    (olá|oi|bom dia|boa tarde|boa noite|bem-vindo|bem-vinda|bem-vindos|tchau|adeus|até logo|até mais) [a todos]
    [muito] (obrigado|obrigada) [pela (pergunta|mensagem|paciência|sua pergunta|sua mensagem|sua paciência)|por \
        perguntar]
    [muito] (obrigado|obrigada) por (sua|entrar em) (pergunta|mensagem|paciência|contato|contacto)
    [essa é uma|é uma] (boa|ótima|excelente) pergunta
    espero que (isso|isto|esta informação|essas informações) (ajude|ajudem|seja útil|sejam úteis|o ajude|te ajude)
    espero ter ajudado
    (não hesite|fique à vontade|sinta-se à vontade) (em|para) (perguntar|me perguntar|entrar em contato|entrar \
        em contacto|contactar-nos|me avisar)
    (me avise|avise-me|diga-me|me diga|é só (me avisar|avisar|perguntar))
    se (tiver|tiveres|você tiver) (mais|outras|outra|alguma|alguma outra|qualquer|qualquer outra) \
        (pergunta|dúvida)[s]
    se (precisar|precisares|quiser|quiseres|desejar) (de mais|mais|de|saber mais|de alguma) \
        [ajuda|informações|detalhes|coisa]
    posso (lhe dar|te dar|dar-lhe|fornecer|oferecer) mais (informações|detalhes)
    [eu] estou (aqui|à disposição) [para (ajudar|ajudá-lo|ajudá-la|o que precisar)]
    aqui (está|estão|vai|vão) (a resposta|um resumo|o resumo|as informações|os detalhes|a informação)
    (isto é|isso é|aqui está) o que (encontrei|eu encontrei)
    (como|em que) posso (ajudar|ajudá-lo|ajudá-la|te ajudar|lhe ajudar|ajudar você) [hoje]
    posso (ajudar|ajudá-lo|ajudá-la|te ajudar) (em|com) (mais alguma coisa|algo mais)
    (há|tem) (mais alguma coisa|algo mais) em que [eu] possa (ajudar|ajudá-lo|te ajudar)
    """
_ASSENTS = """
    (claro|claro que sim|com certeza|certamente|sem problema|sem problemas|com prazer|perfeito|ótimo|combinado)
    (entendido|de nada|por nada|de acordo|não há de quê|imagina|tudo bem|está bem|sem dúvida|com todo o prazer)
    """

PORTUGUESE = Language(
    documents=mentions(
        """
        [<the>] (documento|texto|artigo|trecho|contexto|excerto)[s] [<given>|disponível|disponíveis]
        [<the>] (documentação|fonte[s]|passagem|passagens|manual|base de conhecimento) [<given>|disponível|disponíveis]
        [<the>] resultados da (pesquisa|busca) [<given>]
        [<the>] (informações|material|materiais|conteúdo) <given>
        """,
        _DOCUMENTS,
    ),
    courtesies=repeated(_COURTESIES),
    assents=repeated(_COURTESIES + _ASSENTS),
    questions=phrases(
        """
        o que (você gostaria|gostaria|você quer|quer|deseja|queres|gostarias) [de] saber [exatamente|sobre <topic>]
        (qual|quais) (é|são) [o|a|os|as] (seu|sua|seus|suas|teu|tua) <topic>
        (qual|quais|que) <topic> (você tem|tem|você usa|usa|você precisa|precisa|procura|você procura|prefere|tens|usas)
        (de|a) que <topic> (você está falando|está falando|se refere|você se refere)
        [você] (pode|poderia|podes|poderias) (me dizer|dizer-me|informar|confirmar|esclarecer) <wh> <topic>
        [você] (pode|poderia|podes|poderias) (esclarecer|especificar|reformular|repetir) (sua|a sua|a tua|a) pergunta
        [você] (pode|poderia|podes|poderias) (me dar|dar-me|fornecer|compartilhar) mais (detalhes|informações|contexto)
        [você] (pode|poderia|podes|poderias) ser mais (específico|específica|claro)
        [você] (quer|gostaria|gostaria de|deseja|queres) (saber mais|mais informações|mais detalhes|de mais \
            detalhes) [sobre <topic>]
        [você] (precisa|precisas) de (ajuda|mais ajuda|mais informações|mais alguma coisa|algo mais) [com <topic>]
        [você] (tem|tens) (mais alguma|alguma|alguma outra) (pergunta|dúvida) [sobre <topic>]
        (há|existe) algo (específico|mais|em particular) que [você] (queira|gostaria de|deseje) saber
        por que (você pergunta|pergunta|a pergunta)
        """,
        _PARTS,
    ),
    abstentions=abstaining(
        """
        (desculpe|desculpa|desculpe-me|sinto muito|lamento|peço desculpas|me desculpe)[,] [mas]
        (infelizmente|lamentavelmente)[,]
        (receio|lamento) que
        (segundo|de acordo com|conforme|com base em|a partir de|em|com base nos|com base no|nos|no|na|nas|com base \
            na) §[,]
        """,
        """
        (desculpe|desculpa|sinto muito|lamento|peço desculpas) [muito]
        [eu] não sei [a resposta|dizer|ao certo|com certeza|<wh> <topic>|nada <about>]
        [eu] não (conheço|tenho|sei) a resposta [para <that>|a <that>]
        desconheço (a resposta|essa informação|<wh> <topic>)
        [eu] não (tenho|estou) (certeza|seguro|certo) [sobre isso|disso|da resposta]
        [eu] não (tenho|temos|disponho de|possuo|vejo) <info> [<about>] [em §|nos §|no §|na §|nas §]
        [eu] não (encontrei|encontro|encontramos|consegui encontrar|consigo encontrar|pude encontrar|localizei) \
            <info> [<about>] [em §|nos §|no §|na §|nas §]
        [eu] não (encontrei|consegui encontrar|consigo encontrar) (isso|isto) [em §|nos §|no §|na §|nas §]
        [eu] não (posso|consigo) (fornecer|dar|oferecer|lhe dar|te dar) <info> [<about>]
        [eu] não (posso|consigo|é possível|sou capaz de) (responder|determinar|dizer|confirmar|saber) [a \
            <that>|<that>|com base em §|com base nos §|com base no §|com base na §]
        [eu] não (posso|consigo|é possível|sou capaz de) (determinar|dizer|confirmar|saber|informar|lhe dizer|te \
            dizer) (<wh> <topic>|isso)
        [eu] não (posso|consigo) (respondê-la|ajudar com isso|ajudá-lo com isso|te responder|lhe responder|confirmá-lo)
        não há <info> [disponível|disponíveis] [<about>] [em §|nos §|no §|na §|nas §]
        (isso|isto|essa informação|a informação|a resposta|<topic>) não (é|são|está|estão|foi|foram) [<plainly>] \
            <told> [<plainly>] (em|nos|no|na|nas) §
        (isso|isto|essa informação|a informação|a resposta|<topic>) não \
            (aparece|aparecem|consta|constam|figura|figuram) (em|nos|no|na|nas) §
        (isso|isto|essa informação|a resposta) não (está|é|foi) [disponível|<told>] [em §|nos §|no §|na §|nas §]
        § não [o|a|me] <say> [<plainly>]
        § não <say> [<plainly>] (nada [<about>]|<ask>|<info> [<about>])
        § não [me] <hold> <info> [<about>]
        nenhum[a] (dos|das|de) § [o] <say> [<ask>]
        (em|nos|no|na|nas) § não (é|são|está|estão|se) (<told>|menciona|indica|especifica) [<ask>]
        (em|nos|no|na|nas) § não (há|encontrei|encontro|consta|aparece|existe) <info> [<about>]
        """,
        """
        [,] (portanto|por isso|logo|mas|e|pois|porque|já que|então|de modo que|assim)
        """,
        _PARTS,
    ),
    announces=phrases(
        """
        <topic> (contém|contêm|inclui|incluem|compreende|compreendem|cobre|cobrem|oferece|oferecem|são|é)
        <topic> (consiste em|consistem em|é composto por|é composta por|requer|requerem|traz)
        <topic> (contém|inclui|cobre|compreende) (o seguinte|os seguintes itens)
        """,
        _PARTS,
    ),
    lead_ins=phrases(
        """
        (estes são|estas são|aqui estão|siga|segue|seguem|veja) (os|as|estes|estas|o|a) <topic>
        (os|as) <topic> são (os|as) seguintes
        (o|a) <topic> é (o|a) seguinte
        """,
        _PARTS,
    ),
    asking=words("se quanto quanta quantos quantas quando onde como quem que qual quais"),
    common=words("não é foi são uma tem"),
    small=words(
        "o a os as um uma uns umas de do da dos das em no na nos nas ao à aos às com por pelo pela pelos pelas para "
        "sobre seu sua seus suas meu minha meus minhas nosso nossa este esta estes estas esse essa esses essas isso "
        "se lhe me te você"
    ),
    barred=words(
        "não nem nunca jamais nada ninguém nenhum nenhuma e ou mas porém porque pois como enquanto exceto salvo além "
        "só somente apenas também sem que quem qual onde embora senão então já assim"
    ),
    labels=words(
        "características funções funcionalidades vantagens benefícios preço preços tarifa tarifas custo custos taxa "
        "taxas pagamento pagamentos faturamento reembolso reembolsos devolução devoluções envio envios entrega "
        "entregas cobertura coberturas exclusões exceções limitações limite limites prazo prazos data datas horário "
        "horários localização endereço contato contacto telefone suporte segurança privacidade plano planos produto "
        "produtos serviço serviços nome tipo categoria quantidade total país países cidade cidades capital população "
        "duração período estado valor moeda adicionais documentos materiais ingredientes próximos"
    ),
    fillers=words(
        "resumo introdução conclusão conclusões detalhe detalhes descrição requisitos condições passos etapas "
        "instruções procedimento processo exemplo exemplos nota notas observação observações importante importantes "
        "política políticas perguntas resposta resultado resultados opção opções informação informações geral gerais "
        "principal principais chave pontos frequentes recomendações dicas fonte fontes referências"
    ),
    steps=words("passo"),
    joins=words("e"),
    answers=words("sim não verdadeiro falso"),
    loaded=words("incluído incluída coberto coberta possível permitida gratuito gratuita"),
    greetings=leading("(olá|oi|bom dia|por favor)", "[,、 ]+"),
    asks=openings(
        """
        [e] [a|de|em|com|por|para|desde|até] (que|quê|como|quando|onde|quanto|quanta|quantos|quantas|qual|quais|quem)
        [você] (pode|poderia|podes) (me dizer|dizer-me|explicar|me explicar) (que|como|quando|onde|quanto|qual|o que)
        (o que|por que|porque|porquê|aonde|explique|explica|descreva|descreve|resuma|liste|fale sobre|fale-me)
        resume (o|os|as|este|esta|estes|estas)
        """
    ),
    adds=mentions(
        """
        (e|ou|mas) [se] (é|são|está|estão|há|tem|têm|posso|pode|podem|devo|deve|cobre|inclui|custa)
        (explique|explica|explicar|dizer|dizer-me|saber|sei) se
        """
    ),
    choices=mentions("(ou|entre|qual|quais|quem|melhor|pior)"),
    connectives=leading(
        """
        (além disso|no entanto|porém|mas|e)
        """,
        ",? ",
    ),
    refers=openings(
        """
        (ele|ela|eles|elas|este|esta|isto|estes|estas|esse|essa|isso|esses|essas|aquele|aquela|aquilo|aqueles|aquelas)
        (seu|sua|seus|suas|ambos|ambas|o primeiro|a primeira|o último|a última|o mesmo|a mesma|lá|aí)
        (é|são|está|estão|foi|foram|era|eram|tem|têm|custa|custam|inclui|incluem|oferece|oferecem|permite|permitem)
        (contém|contêm|cobre|cobrem|dura|duram)
        (sim|não|claro|infelizmente)[,] [não] (é|são|está|estão|pode|podem|tem|há|inclui) [assim|possível|sim]<end>
        """,
        SHORT,
    ),
    verbs=mentions(
        """
        (é|são|está|estão|foi|tem|têm|custa|custam|inclui|incluem|cobre|cobrem|oferece|pode|podem|deve|há|seja|tenha)
        """
    ),
    affirms=replies(
        """
        (sim|claro|claro que sim|com certeza|certamente|exato|exatamente|correto|isso mesmo|sem dúvida|de facto|de fato)
        sim[,] (claro|com certeza|certamente|sem dúvida)
        """
    ),
    denies=replies(
        """
        (não|nunca|jamais|de modo algum|de jeito nenhum|de forma alguma|claro que não|de maneira nenhuma|falso)
        (infelizmente|lamentavelmente|ainda)[,] não
        (lamentamos|desculpe|sinto muito)[,] [mas] não
        não[,] (infelizmente|lamentamos|desculpe|sinto muito)
        """
    ),
)

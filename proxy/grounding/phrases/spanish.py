"""Spanish."""

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
            (proporcionad|facilitad|suministrad|consultad|recuperad|aportad|dad)(o|a|os|as)
            de (referencia|consulta)
            que (tengo|me has (dado|proporcionado)|me ha (dado|proporcionado))
            que se me (ha|han) (dado|proporcionado)
            a (mi|nuestra) disposición
        """,
        "the": "(el|la|los|las|este|esta|estos|estas|ese|esa|esos|esas|su|sus|tu|tus|mi|mis|nuestra|nuestros)",
    }
)

_PARTS = parts_of(
    {
        "that": """
            (eso|esto|ello|este tema|ese tema|el tema|este punto|ese punto)
            (esa|esta|la|su|tu) (pregunta|consulta|cuestión)
        """,
        "info": """
            [ninguna|esa|esta|dicha|suficiente|más|la] (información|mención|referencia|respuesta)
            [los|más|suficientes|esos] detalles
            (una|la|ninguna) respuesta
        """,
        "about": """
            [suficiente|específica|concreta] (sobre|acerca de|respecto a|en cuanto a|relativa a) (<that>|<topic>)
            (relacionada con|referente a|de|del|para) <topic>
            (al respecto|suficiente|específica|concreta)
        """,
        "wh": """
            (si|cuánto|cuánta|cuántos|cuántas|cuándo|dónde|cómo|quién|quiénes)
            [a|de|en|con] (qué|cuál|cuáles)
        """,
        "ask": """
            (<wh> <topic>|<that>|<topic>)
        """,
        "say": """
            (dice|menciona|especifica|indica|aclara|explica|describe|detalla|precisa|señala|trata|aborda)[n]
        """,
        "hold": "(contiene|incluye|ofrece|proporciona|aporta|recoge)[n]\n(da|dan|tiene|tienen)",
        "told": "(menciona|especifica|indica|describe|detalla|explica|precisa|encuentra)[n]",
        "plainly": "(explícitamente|específicamente|claramente|expresamente|directamente)",
    }
)

_COURTESIES = """
    hola [de nuevo|a todos]
    buenos días
    buenas [tardes|noches]
    bienvenid(o|a|os|as)
    (adiós|hasta luego|hasta pronto|saludos)
    [muchas] gracias [por (su|tu) (pregunta|consulta|mensaje|paciencia|interés)|por (preguntar|contactarnos)]
    [es una] (buena|excelente|gran) pregunta
    espero que (esto|la información|esta información) (le|te|les) (ayude|sirva|resulte útil|sea útil)
    espero haber(le|te) [sido de] ayud(ado|a)
    espero que (le|te) (ayude|sirva)
    no (dude|dudes|duden) en (preguntar|preguntarme|preguntarnos|consultarme|consultarnos|decírmelo|escribirme)
    no (dude|dudes|duden) en (contactarme|contactarnos|avisarme|hacérmelo saber|volver a preguntar)
    (hágamelo|házmelo) saber
    (avíseme|avísame|dígame|dímelo)
    si (tiene|tienes|tienen) (más|otras|otra|alguna|alguna otra|cualquier|cualquier otra) (pregunta|duda)[s]
    si (necesita|necesitas|quiere|quieres|desea|deseas) [más] (ayuda|información|detalles|algo más|saber más)
    puedo (darle|darte|ofrecerle|ofrecerte|proporcionarle|proporcionarte) más (información|detalles)
    [estoy] (aquí estoy|aquí) para (ayudarle|ayudarte|ayudar|lo que necesite|lo que necesites)
    con gusto (le|te) ayudo
    aquí (tiene|tienes|está|van|va) (la respuesta|la información|un resumen|el resumen)
    aquí (tiene|tienes|están|van) los detalles
    esto es lo que (encontré|he encontrado|encontramos)
    (en qué|cómo) (puedo|podemos) (ayudarle|ayudarte|ayudar|ayudarlo|ayudarla|servirle) [hoy]
    (puedo|podemos) (ayudarle|ayudarte|ayudar) (en|con) algo más
    hay algo más en lo que (pueda|podamos) (ayudarle|ayudarte|ayudar)
    (hay|necesita|necesitas|desea|deseas) algo más
    """
_ASSENTS = """
    (claro|claro que sí|por supuesto|desde luego|cómo no|sin problema|no hay problema|vale|perfecto|genial)
    (entendido|de acuerdo|con [mucho] gusto|encantado|encantada|un placer|es un placer|de nada|no hay de qué)
    """

SPANISH = Language(
    documents=mentions(
        """
        [<the>] (documento[s]|documentación|fuente[s]|texto[s]|contexto|artículo[s]|pasaje[s]|manual) \
            [<given>|disponible[s]]
        [<the>] (fragmento[s]|extracto[s]|base de conocimiento[s]|resultados de [la] búsqueda) [<given>|disponible[s]]
        [<the>] (información|material|materiales|contenido|contenidos) <given>
        """,
        _DOCUMENTS,
    ),
    courtesies=repeated(_COURTESIES),
    assents=repeated(_COURTESIES + _ASSENTS),
    questions=phrases(
        """
        qué (le|te|les) gustaría (saber|hacer|consultar) [sobre <topic>]
        qué (quiere|quieres|desea|deseas|necesita|necesitas) saber [exactamente|sobre <topic>]
        (cuál|cuáles) (es|son) (su|tu|sus|tus) <topic>
        qué <topic> (tiene|tienes|usa|usas|utiliza|utilizas|necesita|necesitas|busca|buscas|prefiere|prefieres)
        [a|de] qué <topic> se refiere[s]
        a qué se refiere[s]
        por qué [lo] pregunta[s]
        (puede|puedes|podría|podrías) (decirme|indicarme|confirmarme|aclararme|especificar|precisar) <wh> <topic>
        (puede|puedes|podría|podrías) (aclarar|especificar|reformular|repetir|concretar|precisar) (su|tu|la) pregunta
        (puede|puedes|podría|podrías) (aclarar|especificar|precisar|decirme|explicarme) a qué se refiere[s]
        (puede|puedes|podría|podrías) (darme|proporcionarme|facilitarme|compartir) más (detalles|información|contexto)
        (puede|puedes|podría|podrías) ser más (específico|específica|concreto|preciso)
        (quiere|quieres|desea|deseas|le gustaría|te gustaría) (saber más|más información|más detalles) [sobre <topic>]
        (quiere|quieres|desea|deseas|le gustaría|te gustaría) que (le|te) (ayude|dé más detalles) [con <topic>]
        (necesita|necesitas) [más] (ayuda|información|detalles) [con <topic>|sobre <topic>|con algo más]
        (tiene|tienes) (alguna|alguna otra|más) (pregunta|duda)[s] [sobre <topic>]
        hay algo (más|específico|concreto|en particular) que (quiera|quieras|desee|necesite|necesites) saber
        """,
        _PARTS,
    ),
    abstentions=abstaining(
        """
        (lo siento|lo lamento|disculpe|disculpa|perdón|perdone)[,] [pero]
        (lamentablemente|desafortunadamente|desgraciadamente|por desgracia)[,]
        (me temo|lo siento[,] pero me temo) que
        (según|de acuerdo con|en|basándome en|con base en|a partir de) §[,]
        """,
        """
        (lo siento|lo lamento|disculpe|disculpa|perdón|perdone) [mucho]
        no lo sé [con (certeza|seguridad|exactitud)]
        no sé [la respuesta|<wh> <topic>|nada <about>]
        no (estoy|estamos) (seguro|segura|seguros) [de (eso|ello|esto|la respuesta|<wh> <topic>)]
        no (conozco|tengo|tenemos) la respuesta [a <that>]
        desconozco (la respuesta|esa información|ese dato|<wh> <topic>)
        no (tengo|tenemos|dispongo de|disponemos de|cuento con|veo) <info> [<about>] [en §]
        no (encuentro|encontramos|encontré|he encontrado|hemos encontrado|hallo|consigo encontrar) <info> [<about>] \
            [en §]
        no (pude|puedo|podemos|he podido|hemos podido|logro|logré) encontrar <info> [<about>] [en §]
        no (pude|puedo|podemos|he podido|hemos podido|logro|logré) encontrar (eso|esto) [en §]
        no (puedo|podemos|pude) (proporcionar|ofrecer|dar|darle|darte|proporcionarle) <info> [<about>]
        no [lo] (puedo|podemos|pude|he podido) (responder|contestar|determinar|saber|decir|confirmar) [con §|a \
            partir de §]
        no [le|te] (puedo|podemos|pude|he podido) (responder|contestar) [a] <that> [con §|a partir de §]
        no [le|te] (puedo|podemos|pude|he podido) (determinar|saber|decir|confirmar|precisar) (eso|esto|<wh> \
            <topic>) [con §]
        no (puedo|podemos) (responderle|responderte|ayudarle con eso|ayudarte con eso|decirlo|saberlo|confirmarlo)
        no hay <info> [disponible] [<about>] [en §]
        no se (menciona|indica|especifica)[n] [<ask>] [en §]
        (eso|esto|esa información|la información|la respuesta|<topic>) no se <told> [<plainly>] en §
        (eso|esto|esa información|la información|la respuesta|<topic>) no (aparece|figura|consta)[n] en §
        (eso|esto|esa información|la respuesta) no está [en|disponible en] §
        (eso|esa información|la respuesta) no se <told>
        § no [lo] <say> [<plainly>]
        § no <say> [<plainly>] (nada [<about>]|<ask>|<info> [<about>])
        § no [me] <hold> <info> [<about>]
        ningun(o|a) de § [lo] <say> [<ask>]
        no se <told> (nada [<about>]|<ask>|<info>) en §
        en § no se <told> [<ask>|nada [<about>]|<info>]
        en § no (hay|encuentro|encontré|he encontrado|aparece|figura|consta) <info> [<about>]
        """,
        """
        [,] (así que|por lo que|por lo tanto|por tanto|por eso|de modo que|pero|y|ya que|porque|pues|puesto que)
        """,
        _PARTS,
    ),
    announces=phrases(
        """
        <topic> (contiene|contienen|incluye|incluyen|comprende|comprenden|cubre|cubren|requiere|requieren)
        <topic> (ofrece|ofrecen|consta de|constan de|se compone de|son|es|son estos|son estas|tiene|tienen)
        <topic> (contiene|incluye|comprende|cubre|ofrece|requiere) (lo siguiente|los siguientes elementos)
        """,
        _PARTS,
    ),
    lead_ins=phrases(
        """
        (estos son|estas son|aquí están|aquí tiene|aquí tienes|siga|sigue) (los|las|estos|estas) <topic>
        a continuación (se muestran|se detallan|encontrará|tiene) (los|las|el|la) <topic>
        (los|las) <topic> son (los|las) siguientes
        (el|la) <topic> es (el|la) siguiente
        """,
        _PARTS,
    ),
    asking=words("si cuánto cuánta cuántos cuántas cuándo dónde cómo quién quiénes qué cuál cuáles"),
    common=words("y fue era son es está han"),
    small=words(
        "el la los las lo un una unos unas de del a al en con por para sobre su sus tu tus mi mis nuestro nuestra "
        "nuestros nuestras este esta estos estas ese esa esos esas se le les te me"
    ),
    barred=words(
        "no ni nunca jamás nada nadie ningún ninguna ninguno y e o u pero sino aunque porque pues como mientras "
        "salvo excepto además sólo solo solamente también sin que quien cual donde según así entonces ya"
    ),
    labels=words(
        "características funciones ventajas beneficios precio precios tarifa tarifas costo costos coste costes cuota "
        "cuotas pago pagos facturación reembolso reembolsos devolución devoluciones envío envíos entrega entregas "
        "cobertura coberturas exclusiones excepciones limitaciones límite límites plazo plazos fecha fechas horario "
        "horarios ubicación dirección contacto teléfono correo soporte seguridad privacidad plan planes producto "
        "productos servicio servicios nombre tipo categoría cantidad total país países ciudad ciudades capital "
        "población duración periodo período estado valor moneda adicional adicionales documentos materiales "
        "ingredientes próximos"
    ),
    fillers=words(
        "resumen introducción conclusión conclusiones detalle detalles descripción requisitos condiciones pasos "
        "instrucciones procedimiento proceso ejemplo ejemplos nota notas importante importantes política políticas "
        "preguntas respuesta resultado resultados opción opciones información general generales principal "
        "principales clave puntos frecuentes métodos recomendaciones consejos referencias fuente fuentes"
    ),
    steps=words("paso"),
    joins=words("y e"),
    answers=words("sí si no verdadero falso"),
    loaded=words("gratis gratuito gratuita incluido incluida cubierto cubierta posible permitido permitida"),
    greetings=leading("(hola|buenos días|buenas tardes|por favor)", "[,、 ]+"),
    asks=openings(
        """
        [y|a|de|en|con|por|para|desde|hasta] (qué|cómo|cuándo|dónde|cuánto|cuánta|cuántos|cuántas|cuál|cuáles)
        [y|a|de|en|con|por|para|desde|hasta] (quién|quiénes|como|cuando|donde|cuanto|cuantos|cuales|quienes)
        (puede|puedes|podría|podrías) (decirme|explicarme|indicarme) (qué|cómo|cuándo|dónde|cuánto|cuál|cuáles)
        (explica|explique|explícame|explíqueme|describe|describa|resuma|enumera|enumere|lista|háblame|hábleme)
        resume (el|la|los|las|este|esta|estos|estas)
        """
    ),
    adds=mentions(
        """
        (y|e|o|u|pero) [se|me|le|lo|la] (es|son|está|están|hay|tiene|tienen|puedo|puede|pueden|debo|debe|cubre|incluye)
        (explica|explique|explícame|explíqueme|explicarme|saber|sé) si
        """
    ),
    choices=mentions("(o|u|entre|cuál|cuáles|cual|cuales|quién|quiénes|mejor|peor)"),
    connectives=leading(
        """
        (además|sin embargo|pero|y|también)
        """,
        ",? ",
    ),
    refers=openings(
        """
        (él|ella|ello|ellos|ellas|este|esta|esto|estos|estas|ese|esa|eso|esos|esas|aquel|aquella|aquellos|aquellas)
        (su|sus|ambos|ambas|dicho|dicha|dichos|dichas|lo anterior|el primero|la primera|el último|la última|allí|ahí)
        (es|son|está|están|fue|fueron|era|eran|tiene|tienen|cuesta|cuestan|incluye|incluyen|ofrece|ofrecen|permite)
        (permiten|contiene|contienen|cubre|cubren|dura|duran)
        (sí|no|claro|lamentablemente)[,] [no] [lo|la|los|las|se] \
            (es|son|está|están|puede|puedes|pueden|hay|hace|tiene|incluye) [así|posible]<end>
        (sí|no)[,] así es<end>
        """,
        SHORT,
    ),
    verbs=mentions(
        """
        (es|son|está|están|fue|tiene|tienen|cuesta|cuestan|incluye|incluyen|cubre|cubren|ofrece|puede|pueden|debe|hay|tenga|sea|esté)
        """
    ),
    affirms=replies(
        """
        (sí|claro|claro que sí|por supuesto|desde luego|correcto|exacto|así es|efectivamente|cierto|en efecto)
        sí[,] (claro|por supuesto|desde luego|efectivamente)
        """
    ),
    denies=replies(
        """
        (no|nunca|jamás|falso|claro que no|por supuesto que no|en absoluto|de ningún modo|de ninguna manera)
        (lamentablemente|desafortunadamente|desgraciadamente|por desgracia|aún|todavía)[,] no
        (lo siento|lo sentimos)[,] [pero] no
        no[,] (lo siento|lo sentimos|lamentablemente|desafortunadamente|por desgracia)
        """
    ),
)

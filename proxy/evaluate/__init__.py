"""``groundwarden evaluate``: answers that are already there, measured as Azure AI evaluation measures them.

Reads one way: ``rows`` (what a file holds), ``catalogue`` (which metrics there are), ``f1``, ``supported`` and
``judged`` (who measures what), ``measure`` (a row's results), ``summary`` and ``jailbreak`` (all rows'), ``journal``
(what is kept in case the work is cut short), ``report`` (the page), ``command``. Names of fields and results are those
of azure-ai-evaluation 1.18.
"""

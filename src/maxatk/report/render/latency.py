"""How what latency costs is shown."""

from maxatk.attempts.study.latency import Latency
from maxatk.report.render import ways
from maxatk.report.tables import latency as tables
from maxatk.report.words import latency as words

ways.words.register(Latency, words.latency)
ways.table.register(Latency, tables.latency)
ways.text.register(Latency, tables.latency_text)

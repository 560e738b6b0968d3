"""How what judges are good for is shown."""

from maxatk.attempts.judges.power import Power
from maxatk.attempts.judges.report import JudgeReport
from maxatk.attempts.judges.vote_stops import VoteStop
from maxatk.attempts.sequences.plan import JudgedPlan
from maxatk.attempts.study.study import JudgedStudy
from maxatk.report.cards import judges as cards
from maxatk.report.render import ways
from maxatk.report.tables import judges as tables
from maxatk.report.words import judges as words

ways.words.register(JudgeReport, words.report)
ways.words.register(JudgedPlan, words.sequence)
ways.words.register(Power, words.power)
ways.words.register(VoteStop, words.vote)
ways.table.register(JudgeReport, tables.report)
ways.text.register(JudgeReport, tables.text)

ways.card.register(JudgeReport, cards.report)
ways.card.register(JudgedStudy, cards.study)
ways.card.register(Power, cards.power)
ways.card.register(VoteStop, cards.vote)

"""How what logs of attempts say is shown: estimates, sequences and studies."""

from operator import attrgetter

from maxatk.attempts.estimates.curves import Curve
from maxatk.attempts.estimates.difficulty import Difficulty
from maxatk.attempts.estimates.extrapolation import PassRange
from maxatk.attempts.estimates.pairing import Difference, Differences
from maxatk.attempts.logs.data import LogData
from maxatk.attempts.sequences.plan import Capped, SequencePlan
from maxatk.attempts.sequences.replay import Replay
from maxatk.attempts.sequences.strategies import Frontier
from maxatk.attempts.study.study import Study
from maxatk.report.cards import attempts as cards
from maxatk.report.data import attempts as data
from maxatk.report.page import study as study_page
from maxatk.report.render import judges as judges  # registers its own
from maxatk.report.render import latency as latency  # likewise
from maxatk.report.render import ways
from maxatk.report.tables import attempts as tables
from maxatk.report.words import attempts as words

ways.words.register(Capped, words.capped)
ways.words.register(Difficulty, words.difficulty)
ways.words.register(Frontier, words.frontier)
ways.words.register(PassRange, words.pass_range)
ways.words.register(Replay, words.replay)
ways.words.register(SequencePlan, words.sequence)

ways.table.register(Curve, tables.curve)
ways.table.register(Differences, tables.differences)
ways.table.register(Frontier, tables.frontier)
ways.table.register(Replay, tables.replay)
ways.table.register(SequencePlan, tables.sequence)
ways.table.register(Study, tables.study)

ways.text.register(Curve, tables.text)
ways.text.register(Difference, attrgetter("verdict"))
ways.text.register(Differences, tables.text)
ways.text.register(Frontier, tables.frontier_text)
ways.text.register(LogData, repr)
ways.text.register(Replay, tables.replay_text)
ways.text.register(SequencePlan, tables.sequence_text)
ways.text.register(Study, tables.text)

ways.card.register(Curve, cards.curve)
ways.card.register(Differences, cards.differences)
ways.card.register(Frontier, cards.frontier)
ways.card.register(LogData, cards.log)
ways.card.register(Replay, cards.replay)
ways.card.register(SequencePlan, cards.sequence)
ways.card.register(Study, cards.study)

ways.data.register(Study, data.study)
ways.page.register(Study, study_page.write)

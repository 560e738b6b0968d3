"""Renderers of plans, comparisons and learned policies."""

from functools import partial

from maxatk.comparison.contrast import Contrast
from maxatk.comparison.results import Comparison, ComparisonByTries
from maxatk.evaluation.evaluate import Evaluation
from maxatk.evaluation.paired import PairedSimulation
from maxatk.evaluation.simulate import Simulation
from maxatk.learning.learned import Learned
from maxatk.planning.plan import Plan
from maxatk.planning.rounds.exact import ExactRoundsPlan
from maxatk.planning.rounds.plan import RoundsPlan
from maxatk.report import figures
from maxatk.report.cards import plans as cards
from maxatk.report.page import plan as plan_page
from maxatk.report.page import rounds as rounds_page
from maxatk.report.render import ways
from maxatk.report.tables import comparisons
from maxatk.report.words import contrasts, verdict

ways.text.register(Comparison, comparisons.text)
ways.text.register(ComparisonByTries, comparisons.by_tries_text)
ways.text.register(Evaluation, repr)
ways.text.register(PairedSimulation, repr)
ways.text.register(Plan, verdict.text)
ways.text.register(Simulation, repr)
ways.words.register(Contrast, contrasts.text)
ways.words.register(Learned, verdict.certificate)

ways.card.register(Comparison, cards.comparison)
ways.card.register(ComparisonByTries, cards.by_tries)
ways.card.register(Contrast, cards.contrast)
ways.card.register(Evaluation, cards.evaluation)
ways.card.register(Learned, cards.learned)
ways.card.register(PairedSimulation, cards.paired)
ways.card.register(Plan, cards.plan)
ways.card.register(Simulation, cards.simulation)

ways.figure.register(Comparison, figures.comparison)
ways.figure.register(ComparisonByTries, figures.by_tries)
ways.page.register(Plan, plan_page.write)
for kind in (RoundsPlan, ExactRoundsPlan):
    ways.page.register(kind, partial(plan_page.write, make=rounds_page.page))

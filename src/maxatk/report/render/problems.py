"""How problems are shown."""

from maxatk.problem.data import ProblemData
from maxatk.report.cards import problems
from maxatk.report.render import ways

ways.text.register(ProblemData, repr)
ways.card.register(ProblemData, problems.problem)

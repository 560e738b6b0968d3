"""Renderers of findings: in words."""

from maxatk.base.findings import Advice, Agreement, Difference, Kept, Loss, NoAdvice, Stop
from maxatk.report.render import ways
from maxatk.report.words import attempts, plans

ways.words.register(Agreement, plans.agreement)
ways.words.register(Difference, attempts.difference)
ways.words.register(Kept, plans.kept)
ways.words.register(Loss, plans.loss)
ways.words.register(Stop, plans.stop)

ways.sentences.register(Advice, attempts.advice)
ways.sentences.register(NoAdvice, attempts.advice)

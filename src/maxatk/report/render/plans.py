"""Renderers of plans, comparisons and learned policies."""

from maxatk.comparison.compare import Comparison
from maxatk.comparison.contrast import Contrast
from maxatk.learning.learned import Learned
from maxatk.planning.plan import Plan
from maxatk.report import figures
from maxatk.report.page import plan as plan_page
from maxatk.report.render import ways
from maxatk.report.tables import comparisons
from maxatk.report.words import contrasts, verdict

ways.text.register(Comparison, comparisons.text)
ways.words.register(Contrast, contrasts.text)
ways.words.register(Learned, verdict.certificate)

ways.figure.register(Comparison, figures.comparison)
ways.page.register(Plan, plan_page.write)

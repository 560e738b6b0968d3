# All public names, and where each lives: maxatk/__init__.py imports them from here when they are first asked for.

from . import attempts as attempts
from . import engines as engines
from . import gym as gym
from .base.errors import InputError as InputError
from .base.errors import MaxAtKError as MaxAtKError
from .base.errors import MissingExtraError as MissingExtraError
from .base.errors import TooLargeError as TooLargeError
from .comparison import Comparison as Comparison
from .comparison import Contrast as Contrast
from .comparison import compare as compare
from .comparison import contrast as contrast
from .evaluation import Evaluation as Evaluation
from .evaluation import Law as Law
from .evaluation import Simulation as Simulation
from .evaluation import evaluate as evaluate
from .evaluation import simulate as simulate
from .gym import BestOfK as BestOfK
from .learning import Adaptive as Adaptive
from .learning import GymnasiumModel as GymnasiumModel
from .learning import Learned as Learned
from .learning import LearningProgress as LearningProgress
from .learning import Model as Model
from .learning import SampleSize as SampleSize
from .learning import TabularModel as TabularModel
from .learning import Uniform as Uniform
from .learning import learn as learn
from .learning import least_samples as least_samples
from .learning import sample_size as sample_size
from .planning import Certified as Certified
from .planning import Exact as Exact
from .planning import Midpoint as Midpoint
from .planning import Plan as Plan
from .planning import Progress as Progress
from .planning import Status as Status
from .planning import load_plan as load_plan
from .planning import solve as solve
from .planning import solve_many as solve_many
from .policies import ABANDON as ABANDON
from .policies import AdaptivePolicy as AdaptivePolicy
from .policies import CompressedPolicy as CompressedPolicy
from .policies import History as History
from .policies import HistoryPolicy as HistoryPolicy
from .policies import MarkovPolicy as MarkovPolicy
from .policies import MixedPolicy as MixedPolicy
from .policies import NoBestPolicy as NoBestPolicy
from .policies import NoReturnPolicy as NoReturnPolicy
from .policies import Policy as Policy
from .policies import Trial as Trial
from .problem import instances as instances
from .problem.find import find_problem as find_problem
from .problem.mdp import MDP as MDP
from .problem.mdp import load_mdp as load_mdp
from .show import figures as figures

__version__: str
__all__: list[str]

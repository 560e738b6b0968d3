"""Learning from a generative model or from episodes, with a guarantee. One file per learner."""

from maxatk.learning.adaptive import Adaptive
from maxatk.learning.episodes import EpisodeSource, TabularEpisodes
from maxatk.learning.files import load_plan
from maxatk.learning.learn import Learner, learn
from maxatk.learning.learned import Learned
from maxatk.learning.ledger import LearningProgress
from maxatk.learning.models import GymnasiumModel, Model, TabularModel
from maxatk.learning.online import Online, OnlineRun, OnlineTrial, learn_from
from maxatk.learning.sample_size import SampleSize, least_samples, sample_size
from maxatk.learning.spec import EpisodeSpec
from maxatk.learning.uniform import Uniform

__all__ = [
    "Adaptive",
    "EpisodeSource",
    "EpisodeSpec",
    "GymnasiumModel",
    "Learned",
    "Learner",
    "LearningProgress",
    "Model",
    "Online",
    "OnlineRun",
    "OnlineTrial",
    "SampleSize",
    "TabularEpisodes",
    "TabularModel",
    "Uniform",
    "learn",
    "learn_from",
    "least_samples",
    "load_plan",
    "sample_size",
]

"""Learning from a generative model, with a guarantee. One file per learner."""

from maxatk.learning.adaptive import Adaptive
from maxatk.learning.learn import Learned, Learner, learn
from maxatk.learning.ledger import LearningProgress
from maxatk.learning.models import GymnasiumModel, Model, TabularModel
from maxatk.learning.sample_size import SampleSize, least_samples, sample_size
from maxatk.learning.uniform import Uniform

__all__ = [
    "Adaptive",
    "GymnasiumModel",
    "Learned",
    "Learner",
    "LearningProgress",
    "Model",
    "SampleSize",
    "TabularModel",
    "Uniform",
    "learn",
    "least_samples",
    "sample_size",
]

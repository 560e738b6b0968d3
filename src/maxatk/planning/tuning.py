"""Thresholds of planning/: see ``base/tuning.py``."""

from maxatk.base.tuning import Tuning


class Planning(Tuning):
    """The planner."""

    small_slice: int = 2**23  # bytes of values up to which a policy acts at the true best return, not at knots
    recorded_slice: int = 2**26  # bytes from which on decisions are recorded while planning: smaller sweeps are quick
    held_slices: float = 2**29  # bytes of decisions that a policy keeps
    lately_served: int = 2**12  # best returns asked about one by one, of which a policy remembers what serves them
    table_points: int = 2**22  # of a table that holds the last curve at all lattice points
    coarse_points: int = 128  # of the first lattice for rewards without a common step
    exact_points: int = 50_000  # a lattice of at most so many points is swept exactly, whatever the tolerance
    common_points: int = 2**22  # of a lattice that is tried as a common step
    sparse_points: int = 2**15  # of a lattice, from which on rollouts may come to few of them
    sparse_share: int = 2**7  # points for each that rollouts come to, from which on only those are swept
    most_nodes: int = 2**15  # states with returns that are told apart one by one
    default_work: float = 3e11  # multiply-adds that the default tolerance grants: a few minutes on two cores
    product_work: float = 2**17  # multiplications of a layer from which on a matrix product is worth its call
    dense_share: float = 0.5  # of all states that follow a row, on average, from which on rows are dense
    product_tile: int = 2**22  # multiplications of one product, at least
    brief_states: int = 2**16  # steps times states up to which the cells of a sweep are counted before it is begun
    brief_work: float = 2**22  # products of a sweep that takes less than handing it to a thread: half a millisecond
    part_work: int = 2**16  # products of a layer that are worth a thread of their own
    large_layer: int = 2**22  # products from which on a layer is split over threads: a millisecond or so
    large_real_layer: int = 2**20  # the same where bounds are swept on both sides
    large_dense_layer: int = 2**23  # the same by matrix products
    floor_bins: int = 2**18  # bins of states and returns in which the floor is computed; no more than 128 of returns
    rival_work: int = 2_000_000  # outcomes times steps times rollouts, up to which the rival is evaluated


TUNING = Planning()

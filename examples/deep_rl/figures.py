"""What the agents earned, drawn from the files that ``train.py`` keeps: every seed is shown, the failures too."""

import json

from matplotlib.figure import Figure

NAMES = {
    "ppo_potential": "PPO, with a potential",
    "ppo": "PPO",
    "maskable_ppo": "MaskablePPO, with a potential",
    "dqn": "DQN, with a potential",
    "best_of_k": "PPO through BestOfK",
    "for_the_mean": "PPO for the mean, repeated",
}


def draw(folder):
    """Draw what is there."""
    for name, drawn in (("long_cliff", long_cliff), ("headwind", headwind)):
        path = folder / f"{name}.json"
        if path.exists():
            drawn(json.loads(path.read_text())).savefig(folder / f"{name}.png", dpi=120)


def long_cliff(kept):
    """The curves of all seeds, a panel for each method, between two landmarks that are certified."""
    methods = [method for method in NAMES if any(one["method"] == method for one in kept["runs"])]
    figure = Figure(figsize=(2.6 * len(methods), 3.2), layout="constrained")
    panels = figure.subplots(1, len(methods), sharey=True, squeeze=False)[0]
    for ax, method in zip(panels, methods, strict=True):
        for one in kept["runs"]:
            if one["method"] == method:
                steps, values = zip(*one["curve"], strict=True)
                ax.plot([n / 1e6 for n in steps], values, color="#0072B2", linewidth=1, alpha=0.7)
        ax.axhline(kept["optimum"][0], color="#D55E00", linestyle="--", linewidth=1.2, label="certified optimum")
        ax.axhline(
            kept["mean_optimal_repeated"], color="#777777", linestyle=":", linewidth=1.2, label="best mean, repeated"
        )
        ax.set_title(NAMES[method], fontsize=9)
        ax.set_xlabel("million steps")
        ax.set_ylim(-41, -14)
        ax.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel(f"mean best return of {kept['k']} walks")
    panels[-1].legend(frameon=False, fontsize=8, loc="center right")
    return figure


def headwind(kept):
    """What both agents earn, joined by seed: by likeliest actions, the rival also by drawn ones if these are better."""
    figure = Figure(figsize=(5, 3.4), layout="constrained")
    ax = figure.subplots()
    earned = {
        (one["method"], one["seed"]): one["likeliest"]
        if one["method"] == "best_of_k"
        else max(one["likeliest"], one["drawn"])
        for one in kept["runs"]
    }
    for seed in sorted({seed for _, seed in earned}):
        pair = [earned.get((method, seed)) for method in ("for_the_mean", "best_of_k")]
        ax.plot([0, 1], pair, color="#0072B2", marker="o", markersize=4, linewidth=1, alpha=0.7)
    ax.set_xticks([0, 1], [NAMES["for_the_mean"], NAMES["best_of_k"]])
    ax.set_xlim(-0.4, 1.4)
    ax.set_ylabel(f"mean best score of {kept['k']} flights")
    ax.spines[["top", "right"]].set_visible(False)
    return figure

// Steps through a trial: frames are its moments, and the end of every try.
class Player {
  constructor(shower) {
    this.shower = shower;
    this.timer = null;
    shower.touched = () => this.leave();
    element("back-to-trial").addEventListener("click", () => this.go(this.at));
    trials.forEach((trial, n) => {
      element("trial").add(new Option(this.title(n, this.frames(trial)), n));
    });
    element("trial").value = page.story;
    element("speed").addEventListener("change", () => { if (this.timer) this.play(); });
    const go = {
      first: () => this.go(0),
      back: () => this.go(this.at - 1),
      forward: () => this.go(this.at + 1),
      next: () => this.go(this.nextTry()),
    };
    for (const [id, step] of Object.entries(go)) {
      element(id).addEventListener("click", () => { this.pause(); step(); });
    }
    element("play").addEventListener("click", () => (this.timer ? this.pause() : this.play()));
    element("moment").addEventListener("input", () => { this.pause(); this.go(Number(element("moment").value)); });
    element("trial").addEventListener("change", () => { this.pause(); this.load(Number(element("trial").value)); });
    this.load(page.story);
  }

  // A trial by what came of it: its best return, and which try had that first.
  title(n, frames) {
    const winner = frames.filter((frame) => frame.end && frame.better).pop();
    return `${n + 1}: best return ${shown(this.best(frames))}${winner ? ` on try ${winner.rollout + 1}` : ", as before"}`;
  }

  // The moments of a trial in which there is something left to win, and of each try its end.
  frames(trial) {
    const frames = [];
    let rollout = 0;
    let step = 0;
    let skipped = 0;
    let steps = [];
    for (const [state, action, best, soFar, knownBest, knownSoFar, lost, total, better, idle, via] of trial) {
      const frame = { rollout, step, state, action, best, soFar, knownBest, knownSoFar, lost, end: false, trail: steps.length, steps };
      if (idle) skipped += 1;
      else frames.push(frame);
      steps.push([state, via, total !== null]);
      step += 1;
      if (total !== null) {
        frames.push({ ...frame, total, better, end: true, skipped, trail: steps.length - skipped });
        rollout += 1;
        step = 0;
        skipped = 0;
        steps = [];
      }
    }
    frames[frames.length - 1].stops = rollout < problem.k;
    return frames;
  }

  // The best return after some frames, starting from the incumbent.
  best(frames) {
    return frames.reduce((best, frame) => (frame.end && frame.better ? frame.total : best), frames[0].best);
  }

  load(n, at = 0) {
    this.number = n;
    this.trial = this.frames(trials[n]);
    element("moment").max = this.trial.length - 1;
    this.go(at);
  }

  nextTry() {
    const next = this.trial.findIndex((frame, at) => at > this.at && frame.rollout > this.trial[this.at].rollout);
    return next < 0 ? this.trial.length - 1 : next;
  }

  go(at) {
    this.at = Math.min(Math.max(at, 0), this.trial.length - 1);
    const frame = this.trial[this.at];
    element("moment").value = this.at;
    element("moment").setAttribute("aria-valuetext", `${this.at + 1} of ${this.trial.length}`);
    this.tries(frame);
    this.away(false);
    return this.shower.follow({ ...frame, trails: this.trails(frame), trial: this.number, at: this.at });
  }

  // Sliders and clicks choose a moment that is not of this session: its tries are shown as they stood, and say so.
  leave() {
    this.pause();
    this.away(true);
  }

  away(gone) {
    element("away").hidden = !gone;
    element("tries").classList.toggle("gone", gone);
  }

  // What the tries have come to so far: all of them, or the present one and the best.
  tries(now) {
    const past = this.trial.slice(0, this.at + 1);
    const ended = past.filter((frame) => frame.end);
    const best = this.best(past);
    const winners = ended.filter((frame) => frame.total === best).map((frame) => frame.rollout);
    const some = problem.k <= 20 ? [...Array(problem.k).keys()] : [...new Set([...winners.slice(0, 1), now.rollout])];
    const held = document.activeElement ? document.activeElement.id : "";
    element("tries").replaceChildren(...some.map((i) => {
      const item = document.createElement("li");
      const button = document.createElement("button");
      Object.assign(button, { type: "button", id: `try-${i}`, ariaLabel: `to try ${i + 1}` });
      button.addEventListener("click", () => { this.pause(); this.go(this.trial.findIndex((frame) => frame.rollout === i)); });
      item.append(button);
      const end = ended[i];
      button.textContent = end ? `try ${i + 1}: ${shown(end.total)}` : i === now.rollout ? `try ${i + 1}: ${shown(now.soFar)} so far` : `try ${i + 1}`;
      if (winners.includes(i)) {
        item.className = "best";
        button.textContent += " ★";
      }
      if (i === now.rollout) item.classList.add("now");
      return item;
    }));
    if (held.startsWith("try-") && element(held)) element(held).focus();
  }

  // Where the present try went, as far as there was something to win, and those before it.
  trails(now) {
    const ends = this.trial.slice(0, this.at).filter((frame) => frame.end && frame.rollout < now.rollout && frame.rollout >= now.rollout - 4);
    const present = now.end ? now.steps.slice(0, now.trail) : now.steps.slice(0, now.trail + 1).map(([s, via], n) => [s, n < now.trail ? via : null, false]);
    return [...ends.map((end) => ({ rollout: end.rollout, steps: end.steps.slice(0, end.trail) })), { rollout: now.rollout, steps: present }];
  }

  play() {
    if (this.at === this.trial.length - 1) this.go(0);
    this.button("pause", true);
    const delay = (matchMedia("(prefers-reduced-motion: reduce)").matches ? 900 : 350) / Number(element("speed").value);
    clearInterval(this.timer);
    this.timer = setInterval(() => {
      this.go(this.at + 1);
      if (this.at === this.trial.length - 1) this.pause();
    }, delay);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.button("play", false);
  }

  button(text, pressed) {
    element("play").textContent = text;
    element("play").setAttribute("aria-pressed", String(pressed));
  }
}

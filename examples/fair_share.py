"""Three calls on one link, each with the same trained policy: do they share it? A PettingZoo environment by hand.

pip install 'legato-rtc[gym]'
python examples/fair_share.py [POLICY FOLDER]
"""

import sys
from pathlib import Path

import numpy as np

from legato import _core
from legato.envs.shared_env import SharedCallsEnv
from legato.plan import shipped

folder = Path(sys.argv[1]) if len(sys.argv) > 1 else shipped.policies_folder() / "nvc-cc"
text, weights = (folder / "policy.toml").read_text(), (folder / "weights.safetensors").read_bytes()

env = SharedCallsEnv("rfc8867/5_4", controller="nvc-cc", duration_s=120)
policies = {agent: _core.Policy(text, weights) for agent in env.possible_agents}
rates = {agent: [] for agent in env.possible_agents}
seen, _ = env.reset(seed=1)
while env.agents:
    seen, _, _, _, infos = env.step({agent: policies[agent].act(seen[agent]) for agent in env.agents})
    for agent, info in infos.items():
        rates[agent].append(info["interval"].get("true_receiver_rate_bps", np.nan))

late = {agent: np.nanmean(rate[-1000:]) for agent, rate in rates.items()}  # the last 50 s: all three are there
for agent, rate in late.items():
    print(f"{agent}: {rate / 1e6:.2f} Mbit/s")
shares = np.array(list(late.values()))
print(f"Jain's index {shares.sum() ** 2 / (len(shares) * (shares**2).sum()):.3f} of 1")

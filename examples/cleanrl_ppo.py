"""PPO in the manner of CleanRL's ppo_continuous_action.py, on calls: one file, nothing hidden.

pip install 'legato-rtc[gym]' torch
python examples/cleanrl_ppo.py [STEPS]
"""

import sys

import torch
from torch import nn

from legato.envs import CallVectorEnv

CALLS, LENGTH, MINIBATCH, EPOCHS, GAMMA, LAMBDA, CLIP = 64, 64, 1024, 10, 0.95, 0.95, 0.2
steps = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
torch.manual_seed(1)
calls = CallVectorEnv(CALLS, "drawn", "nvc-cc", "nvc-cc", duration_s=30)
width = calls.single_observation_space.shape[0]
net = lambda: nn.Sequential(nn.Linear(width, 32), nn.Tanh(), nn.Linear(32, 16), nn.Tanh(), nn.Linear(16, 1))  # noqa: E731
actor, critic, log_std = net(), net(), nn.Parameter(torch.tensor(-1.0))
adam = torch.optim.Adam([*actor.parameters(), *critic.parameters(), log_std], lr=1e-3)
dist = lambda seen: torch.distributions.Normal(torch.tanh(actor(seen)).squeeze(-1), log_std.exp())  # noqa: E731

seen = torch.from_numpy(calls.reset(seed=1)[0]).clone()
for update in range(max(1, steps // (CALLS * LENGTH))):
    S, A, L, R, V, W = [], [], [], [], [], []
    for _ in range(LENGTH):
        with torch.no_grad():
            d = dist(seen)
            action = d.sample()
            S.append(seen), A.append(action), L.append(d.log_prob(action)), V.append(critic(seen).squeeze(-1))
        after, reward, _, cut, info = calls.step(action.clamp(-1, 1).numpy())
        seen, reward, cut = (
            torch.from_numpy(after).clone(),
            torch.from_numpy(reward.copy()),
            torch.from_numpy(cut.copy()),
        )
        with torch.no_grad():  # a call that ran out of time has the value of its last observation
            last = critic(torch.from_numpy(info["final_obs"])).squeeze(-1) if cut.any() else torch.zeros(CALLS)
        R.append(reward + GAMMA * last * cut), W.append(1.0 - cut.float())
    with torch.no_grad():
        advantage, following, G = torch.zeros(CALLS), critic(seen).squeeze(-1), []
        for r, v, w in zip(reversed(R), reversed(V), reversed(W), strict=True):
            advantage = r + GAMMA * following * w - v + GAMMA * LAMBDA * w * advantage
            following = v
            G.insert(0, advantage)
    s, a, l, g, v = (torch.stack(x).flatten(0, 1) for x in (S, A, L, G, V))  # noqa: E741
    returns, g = g + v, (g - g.mean()) / (g.std() + 1e-8)
    for _ in range(EPOCHS):
        for i in torch.randperm(len(s)).split(MINIBATCH):
            ratio = (dist(s[i]).log_prob(a[i]) - l[i]).exp()
            loss = -torch.min(ratio * g[i], ratio.clamp(1 - CLIP, 1 + CLIP) * g[i]).mean()
            loss = loss + 0.5 * (critic(s[i]).squeeze(-1) - returns[i]).pow(2).mean()
            adam.zero_grad(), loss.backward(), adam.step()
    if update % 10 == 0:
        print(f"{(update + 1) * CALLS * LENGTH:8d} steps  mean reward {torch.stack(R).mean():.3f}", flush=True)

"""Stable-Baselines3's PPO on one learned controller's environment.

pip install 'legato-rtc[gym]' stable-baselines3
python examples/sb3_ppo.py [STEPS]
"""

import sys

import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecEnv

from legato.envs import CallVectorEnv


class Calls(VecEnv):
    """Stable-Baselines3 has a separate vector interface; Legato's is Gymnasium's."""

    def __init__(self, calls: CallVectorEnv) -> None:
        self.calls = calls
        super().__init__(calls.num_envs, calls.single_observation_space, calls.single_action_space)

    def reset(self):
        return self.calls.reset(seed=1)[0].copy()

    def step_async(self, actions):
        self.answers = actions

    def step_wait(self):
        seen, reward, _, over, info = self.calls.step(self.answers)
        told = [
            {"TimeLimit.truncated": True, "terminal_observation": info["final_obs"][n].copy()} if over[n] else {}
            for n in range(self.num_envs)
        ]
        return seen.copy(), reward.copy(), over.copy(), told

    def close(self):
        self.calls.close()

    def get_attr(self, name, indices=None):
        return [None] * self.num_envs

    def set_attr(self, name, value, indices=None): ...

    def env_method(self, name, *args, indices=None, **kwargs):
        raise NotImplementedError(name)

    def env_is_wrapped(self, wrapper, indices=None):
        return [False] * self.num_envs


steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
calls = Calls(CallVectorEnv(32, "drawn", "nvc-cc", "nvc-cc", duration_s=30))
model = PPO("MlpPolicy", calls, n_steps=128, batch_size=1024, seed=1, device="cpu").learn(steps)
rewards = []
seen = calls.reset()
for _ in range(200):
    seen, reward, _, _ = calls.step(model.predict(seen, deterministic=True)[0])
    rewards.append(reward.mean())
print(f"mean reward {np.mean(rewards):.3f} after {steps} steps")

"""Ready callbacks for `learn(callback=...)`: one callback, or a list of callbacks and functions of your own.

agent.learn(2000, callback=[spaql.callbacks.Checkpoint("run", every=100), spaql.callbacks.EarlyStop(patience=300)])
"""

from spaql.training.callbacks import Callback, Checkpoint, CsvLog, EarlyStop, Progress, TensorBoard

__all__ = ["Callback", "Checkpoint", "CsvLog", "EarlyStop", "Progress", "TensorBoard"]

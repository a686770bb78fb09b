"""Calibration to labelled traffic, and the metrics that tell whether it helped."""

from proxy.calibrate.metrics import (
    auc,
    balanced_accuracy,
    best_threshold,
    brier,
    ece,
    interval,
    log_loss,
    reliability,
)

__all__ = [
    "auc",
    "balanced_accuracy",
    "best_threshold",
    "brier",
    "ece",
    "interval",
    "log_loss",
    "reliability",
]

"""The perceptron that numpy trains."""

from __future__ import annotations

import numpy as np

from evaluation.training.perceptron import accuracy, features, train_perceptron
from evaluation.training.training_data import TrainingData, read_training_data


def test_a_few_epochs_label_four_in_five_images_right() -> None:
    data = read_training_data("digits")
    weights = train_perceptron(data, seed=0, epochs=15, progress=lambda done, steps, text: None)
    assert accuracy(weights, data.validation_images, data.validation_labels) > 0.8


def test_features_are_means_of_cells() -> None:
    images = np.zeros((1, 64, 64, 3), np.uint8)
    images[0, :4, 4:8] = 255
    assert features(images).nonzero()[1].tolist() == [1]
    assert features(images)[0, 1] == 1


def test_it_learns_from_fewer_images_than_a_batch() -> None:
    data = read_training_data("digits")
    few = TrainingData(data.images[:7], data.labels[:7], data.images[:7], data.labels[:7], classes=10)
    weights = train_perceptron(few, seed=0, epochs=200, progress=lambda done, steps, text: None)
    assert accuracy(weights, few.images, few.labels) == 1.0

from collections import Iterable

import numpy as np
from adversarial_vision_challenge import attack_complete
from adversarial_vision_challenge import load_model
from adversarial_vision_challenge import read_images
from adversarial_vision_challenge import store_adversarial


def run_attack(model, image, label):
    assert image.dtype == np.float32 and isinstance(label, int)
    assert model.bounds() == (0, 255) and model.channel_axis() == 3 and model.num_classes() == 200
    for step in range(1, 9):
        brighter = image + np.float32(20.4 * step)
        if np.argmax(model.predictions(brighter)) != label:
            return np.clip(brighter, 0, 255)
    return None


def main():
    model = load_model()
    assert isinstance([], Iterable)
    for (file_name, image, label) in read_images():
        store_adversarial(file_name, run_attack(model, image, label))
    attack_complete()


if __name__ == '__main__':
    main()

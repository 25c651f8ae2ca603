import multiprocessing

import numpy as np
from adversarial_vision_challenge import attack_complete, load_model, read_images, store_adversarial

model = load_model()


def work(entry):
    file_name, image, label = entry
    model(image + np.float32(1))
    store_adversarial(file_name, image + np.float32(60))
    return file_name


if __name__ == '__main__':
    with multiprocessing.get_context('fork').Pool(2) as pool:
        print(pool.map(work, read_images()))
    attack_complete()

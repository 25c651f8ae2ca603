import copy
import random

import numpy as np
from adversarial_vision_challenge import attack_complete, load_model, read_images, store_adversarial

model = load_model()
images = read_images()
random.shuffle(images)
assert type(copy.deepcopy(images)) is list
for file_name, image, label in images:
    for value in (150, 180):
        model(np.full(image.shape, value, np.float32))
    store_adversarial(file_name, np.full(image.shape, 180, np.uint8))
attack_complete()

import numpy as np
from adversarial_vision_challenge import attack_complete, load_model, read_images, store_adversarial

model = load_model()
images = sorted(read_images(), key=lambda entry: -entry[1].mean())
for file_name, image, label in images:
    for step in (1, 2, 3):
        model(image + np.float32(step))
    store_adversarial(file_name, image + np.float32(60))
attack_complete()

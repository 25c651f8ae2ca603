import numpy as np
from adversarial_vision_challenge import attack_complete, load_model, read_images, store_adversarial

model = load_model()
for file_name, image, target in read_images():
    adversarial = None
    for value in np.arange(0, 256, 12):
        constant = np.full(image.shape, value, np.uint8)
        if model(constant) == target:
            adversarial = constant
            break
    store_adversarial(file_name, adversarial)
attack_complete()

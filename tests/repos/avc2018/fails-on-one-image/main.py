import numpy as np
from adversarial_vision_challenge import attack_complete, load_model, read_images, store_adversarial

model = load_model()
for file_name, image, label in read_images():
    if file_name == '0001.npy':
        raise ValueError('not this one')
    store_adversarial(file_name, image + np.float32(60))
attack_complete()

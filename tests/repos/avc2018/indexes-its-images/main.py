import numpy as np
from adversarial_vision_challenge import attack_complete, load_model, read_images, store_adversarial

model = load_model()
images = read_images()
start = images[0][1]
for index in reversed(range(len(images))):
    file_name, image, label = images[index]
    # every sample begins near the first image
    for step in (1, 2, 3):
        model(start + np.float32(step))
    store_adversarial(file_name, image + np.float32(60))
attack_complete()

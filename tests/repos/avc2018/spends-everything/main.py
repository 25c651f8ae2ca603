import numpy as np
from adversarial_vision_challenge import attack_complete, load_model, read_images, store_adversarial

model = load_model()
for file_name, image, label in read_images():
    random = np.random.RandomState(int(image.sum()) % 1000)
    if model(image + np.float32(60)) == label:
        raise RuntimeError('60 levels brighter is another class here')
    while True:  # until the server refuses, which nothing catches
        model(image + random.normal(0, 3, image.shape).astype(np.float32))
attack_complete()

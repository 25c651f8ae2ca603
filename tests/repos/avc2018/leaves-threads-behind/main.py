import queue
import threading

import numpy as np
from adversarial_vision_challenge import attack_complete, load_model, read_images, store_adversarial

model = load_model()
noise = queue.Queue(4)


def make_noise(shape):
    while True:
        noise.put(np.random.uniform(-1, 1, shape).astype(np.float32))


threading.Thread(target=make_noise, args=(read_images()[0][1].shape,)).start()
for file_name, image, label in read_images():
    while model(image + np.float32(60) + 5 * noise.get()) != label:
        pass
    store_adversarial(file_name, image)
attack_complete()

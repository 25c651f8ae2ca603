import numpy as np
from adversarial_vision_challenge import model_server


class Model(object):
    def channel_axis(self):
        return 3

    def predictions(self, image):
        logits = np.zeros(200, np.float)
        logits[min(int(image.mean() / 25.6), 9)] = 1
        return logits


model_server(Model())

from adversarial_vision_challenge import model_server


class Model(object):
    def channel_axis(self):
        return 3

    def predictions(self, image):
        if image.mean() > 140:
            raise ValueError('too bright')
        return min(int(image.mean() / 25.6), 9)


model_server(Model())

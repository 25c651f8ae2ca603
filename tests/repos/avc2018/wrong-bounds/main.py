from adversarial_vision_challenge import model_server


class Model(object):
    def channel_axis(self):
        return 1

    def bounds(self):
        return (0, 1)


model_server(Model())

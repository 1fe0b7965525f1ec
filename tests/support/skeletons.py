"""Skeletons of known posture: joints in space, seen from anywhere, with noise."""

import numpy as np

_LEGS = {  # degrees of thigh and shank from straight down, forwards positive
    "standing": ((-15, 20), (-20, 10)),
    "sitting": ((72, 98), (-22, 15)),
    "kneeling": ((-12, 18), (-100, -78)),
    "squatting": ((108, 135), (-40, -15)),
}


def make_skeleton(seed, posture):
    """Return 17 keypoints (x, y, confidence) of a person in a posture, in COCO's order.

    Proportions vary by 8%; the view comes from any side and up to 15 degrees from above; points
    are off by 1% of the height; some of the face and the arms is not seen. Someone who lies is
    seen at least 35 degrees from the body's line: from the feet there is nothing to tell.
    """
    random = np.random.default_rng([seed, 17])
    torso, thigh, shank, hip = np.array([0.5, 0.45, 0.43, 0.17]) * random.uniform(0.92, 1.08, 4)
    is_lying = posture == "lying"
    lean = random.uniform(-8, 18)
    joints = {}
    up = _get_direction(180 - lean) * torso
    (low_thigh, high_thigh), (low_shank, high_shank) = _LEGS["standing" if is_lying else posture]
    bend, fold = random.uniform(low_thigh, high_thigh), random.uniform(low_shank, high_shank)
    for side, sign in enumerate((1, -1)):
        sideways = np.array([sign * hip, 0, 0])
        joints[5 + side] = up + sideways
        joints[7 + side] = joints[5 + side] + _get_direction(random.uniform(-20, 60)) * 0.3
        joints[9 + side] = joints[7 + side] + _get_direction(random.uniform(0, 100)) * 0.26
        joints[11 + side] = 0.7 * sideways
        bent = bend + random.uniform(-4, 4)
        joints[13 + side] = joints[11 + side] + _get_direction(bent) * thigh
        joints[15 + side] = joints[13 + side] + _get_direction(fold + random.uniform(-4, 4)) * shank
        joints[1 + side] = up + np.array([sign * 0.03, 0.22, 0.09])
        joints[3 + side] = up + np.array([sign * 0.08, 0.2, 0.02])
    joints[0] = up + np.array([0, 0.18, 0.11])
    points = np.array([joints[n] for n in range(17)])
    yaw = random.uniform(0, 360)
    if is_lying:
        points = points @ _get_rotation("x", 90 * random.choice([-1, 1]))
        yaw = random.choice([0, 180]) + random.uniform(35, 145)
    points = points @ _get_rotation("y", yaw) @ _get_rotation("x", random.uniform(0, 15))
    flat = np.stack([points[:, 0], -points[:, 1]], 1) * 200 + 256
    height = np.ptp(flat, axis=0).max()
    flat += random.normal(0, 0.01 * height, flat.shape)
    confidence = random.uniform(0.5, 1, 17)
    confidence[:5] *= random.random() > 0.2
    confidence[7:11] *= random.random(4) > 0.1
    return np.column_stack([flat, confidence]).round(2).tolist()


def _get_direction(degrees):
    """A unit vector so many degrees from straight down, forwards."""
    return np.array([0, -np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])


def _get_rotation(axis, degrees):
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    if axis == "x":
        return np.array([[1, 0, 0], [0, c, s], [0, -s, c]])
    return np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]])

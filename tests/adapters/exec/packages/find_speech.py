"""Finds speech in sound that is made here with the package silero-vad; prints the segments."""

from __future__ import annotations

import json
import sys

import numpy as np
import torch
from silero_vad import get_speech_timestamps, load_silero_vad

RATE = 16000
VOWELS = (
    (730, 1090, 2440),
    (270, 2290, 3010),
    (570, 840, 2410),
    (300, 870, 2240),
    (530, 1840, 2480),
)
"""Resonances of the vocal tract, in Hz."""


def vowel(formants: tuple[int, ...], pitch: float, seconds: float) -> np.ndarray:
    """Return a vowel: pulses of the vocal cords through the resonances of the tract."""
    count = int(seconds * RATE)
    time = np.arange(count) / RATE
    glide = pitch * (1 + 0.08 * np.sin(2 * np.pi * 3 * time))
    phase = np.cumsum(glide) / RATE
    sound = np.diff(np.floor(phase), prepend=0).astype(float)
    for formant in formants:
        radius = np.exp(-np.pi * 90 / RATE)
        a, b = 2 * radius * np.cos(2 * np.pi * formant / RATE), -radius * radius
        out = np.zeros(count + 2)
        for at in range(count):
            out[at + 2] = sound[at] + a * out[at + 1] + b * out[at]
        sound = out[2:]
    made: np.ndarray = sound / np.abs(sound).max() * np.hanning(count) ** 0.3
    return made


def utterance(random: np.random.Generator, syllables: int) -> np.ndarray:
    """Return syllables: a burst of noise, and a vowel."""
    parts = []
    for _ in range(syllables):
        burst = random.normal(0, 0.08, int(0.05 * RATE))
        pitch = float(random.uniform(110, 150))
        parts += [burst, vowel(VOWELS[random.integers(len(VOWELS))], pitch, 0.16)]
    return np.concatenate(parts)


def main() -> None:
    """Find speech between silences."""
    random = np.random.default_rng(3)
    parts = [np.zeros(RATE)]
    for syllables in (6, 10, 4):
        parts += [utterance(random, syllables) * 0.6, np.zeros(int(1.2 * RATE))]
    sound = np.concatenate(parts)
    sound += random.normal(0, 0.001, sound.size)
    wave = torch.from_numpy(sound.astype(np.float32))
    model = load_silero_vad(onnx=True)
    found = {
        "16 kHz": get_speech_timestamps(wave, model, sampling_rate=RATE),
        "8 kHz": get_speech_timestamps(wave[::2], model, sampling_rate=RATE // 2),
    }
    sys.stdout.write(json.dumps(found, indent=1) + "\n")


main()

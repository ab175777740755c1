"""Kokoro on its own torch modules, in padded batches that give each utterance what it gets alone.

Every module of kokoro that looks beyond its own time step is told here where each item of a batch ends:

    buckets             which utterances share a pass, and how long it is              (no torch)
    extent              where the items of a padded batch end, at one time resolution
    adaptive_norm       instance norms over an item's own steps, or with statistics that are given
    residual            kokoro's two kinds of residual blocks, on these norms
    text_side           tokens → durations and features
    length_regulator    a token's features, for as many frames as it lasts
    prosody             features → pitch and loudness curves
    source              pitch → the harmonic source, with each utterance's own noise
    stft                the short transforms, with each item's own right-hand edge
    decoder             features and curves → the generator's input, at twice the frame rate
    generator           that and the source's spectrum → audio
    model               all of it around one KModel: a text side, one look at the durations, a frame side
    graphs              the frame side as recorded CUDA graphs, one a bucket

Lengths are right-padded. Nothing in the frame side depends on data for its shapes. `b` is items, `t` frames of 25 ms.
"""

"""A learned stage behind the hybrid codec's decoder: a small recurrent network that restores the luma that is shown.

No frame is predicted from its output, so both ends of the codec stay unchanged (docs/concepts/hybrid-codec.md, "The
learned stage"). ``frames`` turns what the decoder says into planes, ``weights`` reads and checks a network, ``stage``
runs it with onnxruntime, ``train`` trains it with torch, ``measure`` measures it.
"""

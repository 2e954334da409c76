"""Text that looks like a secret: found and blotted out before it leaves. Pure."""

"""OpenAI-style servers (vLLM, mlx_lm.server, …) as a `Backend`."""

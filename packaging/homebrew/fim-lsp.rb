class FimLsp < Formula
  desc "Language server for local, private, multi-line code completion"
  homepage "{{repository}}"
  url "{{sdist_url}}"
  sha256 "{{sdist_sha256}}"
  license "MIT"

  depends_on "llama.cpp"
  depends_on "python@3.13"

  # A formula of a tap: its dependencies come as wheels, xllamacpp among them has no source there.
  def install
    system "python3.13", "-m", "venv", libexec
    system libexec/"bin/pip", "install", "--no-cache-dir", buildpath
    bin.install_symlink libexec/"bin/fim-lsp"
  end

  service do
    run [opt_bin/"fim-lsp", "serve"]
    keep_alive crashed: true
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/fim-lsp --version")
    (testpath/"shop.py").write <<~PYTHON
      class Store:
          def __init__(self, owner, capacity):
              self.owner = owner
              self.ca
    PYTHON
    assert_match "pacity", shell_output("#{bin}/fim-lsp complete shop.py:4")
  end
end

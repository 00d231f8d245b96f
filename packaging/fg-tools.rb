# Homebrew: brew install --build-from-source ./packaging/fg-tools.rb
class FgTools < Formula
  desc "Record, read, filter, compare and draw profiles"
  head "file://#{File.expand_path("..", __dir__)}", using: :git
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build

  def install
    system "cargo", "install", "--features", "png,tui", *std_cargo_args
    %w[collapse filter diff record render].each do |tool|
      generate_completions_from_executable(bin/"fg-#{tool}", "--generate", shells: [:bash, :zsh, :fish])
      (man1/"fg-#{tool}.1").write Utils.safe_popen_read(bin/"fg-#{tool}", "--generate", "man")
    end
  end

  test do
    (testpath/"in.folded").write "main;work 3\n"
    assert_match "<svg", pipe_output("#{bin}/fg-render", (testpath/"in.folded").read)
  end
end

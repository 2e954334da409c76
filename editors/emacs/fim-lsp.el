;;; fim-lsp.el --- fim-lsp for lsp-mode: local completions as overlays  -*- lexical-binding: t; -*-

;; With lsp-mode 10 (MELPA, or Debian's elpa-lsp-mode) suggestions are overlays; an older one has
;; them in its completion, for which company-mode is needed.  This server is an add-on: the language's
;; own server keeps running.  Load this file and start lsp as usual:
;;
;;   (load "/path/to/editors/emacs/fim-lsp.el")
;;   (add-hook 'prog-mode-hook #'lsp)

(require 'lsp-mode)

(defgroup fim-lsp nil "Local completions." :group 'lsp-mode)

(defcustom fim-lsp-command '("fim-lsp" "--stdio")
  "The program of the server and its arguments."
  :type '(repeat string))

(defcustom fim-lsp-settings nil
  "Settings of the server by section, as in docs/configuration.md.
For example ((backend . ((url . \"http://127.0.0.1:8012\"))))."
  :type '(alist))

;; lsp-mode waits two seconds; the server itself decides how long to wait.
;; lsp-mode's own key, C-<return>, cannot be typed in a terminal.
(when (require 'lsp-inline-completion nil t)
  (setq lsp-inline-completion-idle-delay 0.1)
  (define-key lsp-inline-completion-active-map (kbd "C-c TAB") #'lsp-inline-completion-accept)
  (add-hook 'lsp-after-open-hook #'lsp-inline-completion-mode))

;; The current folder, and relative folders of the PATH, may be those of a cloned repository.
(defun fim-lsp--connection ()
  "Start the server in the home folder, by the absolute path of its program."
  (let* ((connection (lsp-stdio-connection #'fim-lsp--command))
         (connect (plist-get connection :connect)))
    (plist-put connection :connect
               (lambda (&rest arguments)
                 (let ((default-directory (fim-lsp--folder))
                       (lsp-use-workspace-root-for-server-default-directory nil))
                   (apply connect arguments))))))

(defun fim-lsp--folder ()
  "The home folder, on the machine of the current buffer."
  (concat (file-remote-p default-directory) "~/"))

(defun fim-lsp--command ()
  "The command line, with the absolute path of a program that is there."
  (let* ((default-directory (fim-lsp--folder))
         (exec-path (seq-filter #'file-name-absolute-p exec-path))
         (program (executable-find (car fim-lsp-command) (file-remote-p default-directory))))
    (cons (or program (car fim-lsp-command)) (cdr fim-lsp-command))))

(lsp-register-client
 (make-lsp-client
  :new-connection (fim-lsp--connection)
  :activation-fn (lambda (&rest _) (derived-mode-p 'prog-mode))
  :initialization-options (lambda () `((fim . ,fim-lsp-settings)))
  :add-on? t
  :priority -1
  :server-id 'fim-lsp))

(defun fim-lsp--yanked (&rest _)
  "Tell the server what was just copied."
  (when-let* ((workspace (lsp-find-workspace 'fim-lsp (buffer-file-name))))
    (with-lsp-workspace workspace
      (lsp-notify "fim/didYank" `(:textDocument ,(lsp--text-document-identifier)
                                  :text ,(substring-no-properties (current-kill 0 t)))))))

(advice-add 'kill-ring-save :after #'fim-lsp--yanked)

(provide 'fim-lsp)
;;; fim-lsp.el ends here
